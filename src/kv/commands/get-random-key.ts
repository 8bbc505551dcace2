// GET_RANDOM_KEY: a random document of a collection, whether in memory or only on disk.
import { collectionIdBytes } from '#wire/collection-id.ts';
import { Feature } from '#wire/features.ts';
import { Datatype, Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { FoundKey } from '../bucket/keys/random-search.ts';
import { notResident, ownMemoryBytes } from '../data/documents.ts';
import { holdFrame, orderOf } from '../dispatch/delayed-reply.ts';
import { refuseMissing } from '../dispatch/missing-privileges.ts';
import { beginReply, clientCasHi, clientCasLo } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { bodyOf, plainValue } from './values.ts';

/** GET_RANDOM_KEY. */
export function getRandomKey(request: Request): CommandResult {
  const query = readQuery(request);
  if (typeof query === 'number') return query;
  const status = request.found ? show(request, request.found, query) : Status.keyNotFound;
  // The key was found in an earlier run: its document may have been deleted since.
  return status === Status.keyNotFound ? search(request, query) : status;
}

/** Work of a search, in bytes: most visit many slots of the index. */
const searchWork = 16 * 1024;

interface KeyQuery {
  collection: number;
  withXattrs: boolean;
}

function readQuery(request: Request): KeyQuery | Status {
  const { buffer, extrasStart, keyStart } = request.frame;
  const collection = keyStart - extrasStart >= 4 ? buffer.readUInt32BE(extrasStart) : 0;
  const flag = keyStart - extrasStart === 5 ? (buffer[extrasStart + 4] as number) : 0;
  if (flag > 1 || (flag === 1 && !request.session.has(Feature.xattr)))
    return request.refuse(
      Status.invalidArguments,
      'The attribute flag must be 0 or 1; 1 requires the xattr feature',
    );
  const bits = request.session.access?.bitsOf(collection) ?? 0;
  if (bits === 0) return request.refuse(Status.unknownCollection, 'Unknown collection');
  const needed = Privilege.read | (flag === 1 ? Privilege.systemXattrRead : 0);
  const missing = needed & ~bits;
  return missing === 0 ? { collection, withXattrs: flag === 1 } : refuseMissing(request, missing);
}

function search(request: Request, query: KeyQuery): CommandResult {
  request.workBytes += searchWork;
  let status = null as CommandResult | null;
  let reply = (found: FoundKey | Status): void => {
    status = typeof found === 'number' ? found : show(request, found, query);
  };
  request.bucket.engine?.keys.findRandom(query.collection, (found) => reply(found));
  if (status !== null) return status;
  const heldReply = holdFrame(request, orderOf(request));
  reply = (found) => {
    if (typeof found !== 'number') heldReply.found = found;
    heldReply.resolve(typeof found === 'number' ? found : Status.success);
  };
  return Outcome.later;
}

function show(request: Request, found: FoundKey, query: KeyQuery): CommandResult {
  const { documents, session, view } = request;
  const status = documents.find(found.vb, found.key, 0, found.key.length, view);
  if (status === notResident) request.found = found;
  if (status !== Status.success) return status;
  const value = plainValue(view, request);
  const start = query.withXattrs ? value.start : bodyOf(view, value);
  const withId = session.has(Feature.collections);
  const keyStart = view.keyStart + (withId ? 0 : collectionIdBytes(query.collection));
  const keyBytes = view.keyEnd - keyStart;
  const seen = (session.has(Feature.json) ? Datatype.json : 0) | (query.withXattrs ? Datatype.xattr : 0);
  const { datatype } = view;
  const bytes = value.end - start;
  const attached = bytes < ownMemoryBytes ? 0 : bytes;
  const at = beginReply(
    request,
    4,
    keyBytes,
    bytes,
    datatype & seen,
    clientCasHi(view),
    clientCasLo(view),
    attached,
  );
  const { buffer } = request.output;
  buffer.writeUInt32BE(view.flags, at);
  view.buffer.copy(buffer, at + 4, keyStart, view.keyEnd);
  if (attached > 0) request.output.attach(value.buffer.subarray(start, value.end));
  else value.buffer.copy(buffer, at + 4 + keyBytes, start, value.end);
  return Outcome.replied;
}
