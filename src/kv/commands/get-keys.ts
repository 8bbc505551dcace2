// GET_KEYS: the keys of a collection in one vbucket in key order, for tools that iterate over a bucket.
import { collectionIdBytes } from '#wire/collection-id.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import type { ListedKeys } from '../bucket/keys/packed-keys.ts';
import { orderOf } from '../dispatch/delayed-reply.ts';
import { replyValue } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';

const countDefault = 1000;
/** Keys of one reply, which stays below 5 MB. */
const countMax = 16_384;
/** Work of the part of a list that is made at once, in bytes. */
const listWork = 64 * 1024;

/** GET_KEYS. */
export function getKeys(request: Request): CommandResult {
  const { bucket, collection, documents, frame, key, keyStart, keyEnd, session } = request;
  if (!documents.isActive(frame.vb)) return Status.notMyVbucket;
  if (bucket.spec.type !== 'native' || !bucket.engine) return Status.notSupported;
  const hasCount = frame.keyStart > frame.extrasStart;
  const requested = hasCount ? frame.buffer.readUInt32BE(frame.extrasStart) : countDefault;
  const query = {
    vb: frame.vb,
    collection,
    seqno: 0,
    bytesMax: Infinity,
    countMax: Math.min(requested, countMax),
  };
  const from = Buffer.from(key.subarray(keyStart, keyEnd));
  const accepts = (buffer: Buffer, start: number, end: number): boolean =>
    buffer.compare(from, 0, from.length, start, end) >= 0;
  const skipped = session.has(Feature.collections) ? 0 : collectionIdBytes(collection);
  request.workBytes += listWork;
  return replyWhenFound(request, (done) =>
    bucket.engine?.keys.list({ ...query, accepts }, (keys) =>
      done(typeof keys === 'number' ? keys : encode(keys, skipped)),
    ),
  );
}

/** Replies with the value that `find` passes to its callback, now or later. */
function replyWhenFound(
  request: Request,
  find: (done: (value: Buffer | Status) => void) => void,
): CommandResult {
  let outcome = null as CommandResult | null;
  let reply = (value: Buffer | Status): void => {
    outcome = typeof value === 'number' ? value : replyValue(request, value);
  };
  find((value) => reply(value));
  if (outcome !== null) return outcome;
  const heldReply = request.connection.holdReply(request, orderOf(request));
  reply = (value) => {
    if (typeof value !== 'number') heldReply.value = value;
    heldReply.resolve(typeof value === 'number' ? value : Status.success);
  };
  return Outcome.later;
}

function encode(keys: ListedKeys, skipped: number): Buffer {
  let bytes = 0;
  for (const key of keys) bytes += 2 + key.length - skipped;
  const encoded = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const key of keys) {
    at = encoded.writeUInt16BE(key.length - skipped, at);
    at += key.copy(encoded, at, skipped);
  }
  return encoded;
}
