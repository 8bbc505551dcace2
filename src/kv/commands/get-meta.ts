import { writeU64 } from '#wire/bytes.ts';
import { Feature } from '#wire/features.ts';
import { Datatype, Status } from '#wire/status.ts';
import { notResident } from '../data/documents.ts';
import { beginReply, clientCasHi, clientCasLo } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';

/** Version 2 of the reply includes the datatype. */
const withDatatype = 2;

/** GET_META, GETQ_META: the metadata of a document or of its tombstone. */
export function getMeta(request: Request): CommandResult {
  const { frame, view } = request;
  const version = frame.keyStart > frame.extrasStart ? (frame.buffer[frame.extrasStart] as number) : 0;
  if (version > withDatatype) return request.refuse(Status.invalidArguments, 'Unknown version of the reply');
  const status = request.documents.findMeta(frame.vb, request.key, request.keyStart, request.keyEnd, view);
  if (status === notResident) return status;
  request.counters.metaGets++;
  if (status !== Status.success) return status;
  const bytes = version === withDatatype ? 21 : 20;
  const at = beginReply(request, bytes, 0, 0, 0, clientCasHi(view), clientCasLo(view));
  const { buffer } = request.output;
  buffer.writeUInt32BE(view.isDeleted ? 1 : 0, at);
  buffer.writeUInt32BE(view.flags, at + 4);
  buffer.writeUInt32BE(view.expiry, at + 8);
  writeU64(buffer, at + 12, view.rev);
  if (bytes === 21) buffer[at + 20] = shownDatatype(request, view.datatype);
  return Outcome.replied;
}

function shownDatatype(request: Request, datatype: number): number {
  const { session } = request;
  let visible = datatype;
  if (!session.has(Feature.json)) visible &= ~Datatype.json;
  if (!session.has(Feature.snappy)) visible &= ~Datatype.snappy;
  return session.has(Feature.xattr) ? visible : visible & ~Datatype.xattr;
}
