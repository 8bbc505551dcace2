import { collectionIdBytes } from '#wire/collection-id.ts';
import { Feature } from '#wire/features.ts';
import { Datatype, Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import { beginReply, shownCasHi, shownCasLo } from '../dispatch/reply.ts';
import { Outcome, type Request } from '../dispatch/request.ts';
import { bodyOf, plainValue } from './values.ts';

/** GET_RANDOM_KEY: any document of a collection, without its attributes. */
export function getRandomKey(request: Request): Status | Outcome {
  const { frame, session, view, bucket } = request;
  const hasCollection = frame.keyStart - frame.extrasStart >= 4;
  const id = hasCollection ? frame.buffer.readUInt32BE(frame.extrasStart) : 0;
  const bits = session.access?.of(id) ?? 0;
  if (bits === 0) return Status.unknownCollection;
  if ((bits & Privilege.read) === 0) return Status.noAccess;
  if (!bucket.engine?.findRandom(id, view)) return Status.keyNotFound;
  const value = plainValue(view);
  const start = bodyOf(view, value);
  const withId = session.has(Feature.collections);
  const keyStart = view.keyStart + (withId ? 0 : collectionIdBytes(id));
  const keyBytes = view.keyEnd - keyStart;
  const datatype = session.has(Feature.json) ? view.datatype & Datatype.json : 0;
  const bytes = value.end - start;
  const at = beginReply(request, 4, keyBytes, bytes, datatype, shownCasHi(view), shownCasLo(view));
  const { buffer } = request.output;
  buffer.writeUInt32BE(view.flags, at);
  view.buffer.copy(buffer, at + 4, keyStart, view.keyEnd);
  value.buffer.copy(buffer, at + 4 + keyBytes, start, value.end);
  return Outcome.replied;
}
