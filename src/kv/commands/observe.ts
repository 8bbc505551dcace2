// Persistence of a vbucket and of single documents.
import { writeU64 } from '#wire/bytes.ts';
import { collectionIdBytes, readCollectionId } from '#wire/collection-id.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { holdFrame } from '../dispatch/delayed-reply.ts';
import { refuseMissing } from '../dispatch/missing-privileges.ts';
import { beginReply, clientCasHi, clientCasLo, replyValue } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import type { PartialReply } from '../served/held-reply.ts';

/** OBSERVE_SEQNO. */
export function observeSeqno(request: Request): CommandResult {
  const { frame, documents } = request;
  if (frame.end - frame.valueStart !== 8)
    return request.refuse(Status.invalidArguments, 'The value must be a vbucket uuid of 8 bytes');
  // Clients also ask replicas which seqno they have.
  if (documents.stateOf(frame.vb) === VbucketState.dead) return Status.notMyVbucket;
  const uuidHi = frame.buffer.readUInt32BE(frame.valueStart);
  const uuidLo = frame.buffer.readUInt32BE(frame.valueStart + 4);
  const log = documents.failoverLog(frame.vb);
  const index = log.findIndex((entry) => entry.uuidHi === uuidHi && entry.uuidLo === uuidLo);
  const newest = log[0];
  if (index < 0 || !newest) return Status.keyNotFound;
  const isOld = index > 0;
  const at = beginReply(request, 0, 0, isOld ? 43 : 27, 0, 0, 0);
  const { buffer } = request.output;
  buffer[at] = isOld ? 1 : 0;
  buffer.writeUInt16BE(frame.vb, at + 1);
  buffer.writeUInt32BE(newest.uuidHi, at + 3);
  buffer.writeUInt32BE(newest.uuidLo, at + 7);
  writeU64(buffer, at + 11, documents.watchPersisted(frame.vb));
  writeU64(buffer, at + 19, documents.highSeqno(frame.vb));
  if (!isOld) return Outcome.replied;
  buffer.writeUInt32BE(uuidHi, at + 27);
  buffer.writeUInt32BE(uuidLo, at + 31);
  // The history of the old uuid ends at the first seqno of the next newer uuid.
  writeU64(buffer, at + 35, log[index - 1]?.seqno ?? 0);
  return Outcome.replied;
}

const KeyState = { inMemory: 0x00, persisted: 0x01, notFound: 0x80, deleted: 0x81 } as const;
const stateBytes = 9;
/** Before the key of an entry: its vbucket and the length of the key. */
const entryHeaderBytes = 4;
/** Limit of keys in one request: a frame has room for millions, which would block the data thread. */
export const observeKeysMax = 4096;
/** Keys that are looked up in one run of a request: a few milliseconds on a machine with much other work. */
const stepKeys = 512;
/** Work of the search for one key, in bytes. */
const keyWork = 128;

/** OBSERVE: the state of each document that the value names. Each entry of the value has a vbucket and a key length of 2 bytes each, then the key. */
export function observe(request: Request): CommandResult {
  const { frame, output } = request;
  const { valueStart, end } = frame;
  const count = countKeys(frame.buffer, valueStart, end);
  if (count < 0) return request.refuse(Status.invalidArguments, 'Invalid packet structure');
  if (count > observeKeysMax) return request.refuse(Status.invalidArguments, 'Too many keys');
  if (count > stepKeys) return observeInSteps(request, count);
  request.workBytes += count * keyWork;
  const before = output.end;
  let to = beginReply(request, 0, 0, end - valueStart + count * stateBytes, 0, 0, 0);
  for (let at = valueStart; at < end; ) {
    const next = at + entryHeaderBytes + frame.buffer.readUInt16BE(at + 2);
    const status = observeOne(request, frame.buffer.readUInt16BE(at), at + entryHeaderBytes, next);
    if (status !== Status.success) {
      output.end = before;
      return status;
    }
    to += frame.buffer.copy(output.buffer, to, at, next);
    to += state.copy(output.buffer, to);
    at = next;
  }
  return Outcome.replied;
}

/** As `observe`, with some of the keys in each run of the request. */
function observeInSteps(request: Request, count: number): CommandResult {
  const { frame, resumed } = request;
  const bytes = frame.end - frame.valueStart;
  const partial = resumed?.partial ?? {
    value: Buffer.allocUnsafe(bytes + count * stateBytes),
    valueEnd: 0,
    nextEntry: 0,
  };
  request.workBytes += stepKeys * keyWork;
  for (let keys = 0; partial.nextEntry < bytes; keys++) {
    if (keys === stepKeys) return continueLater(request, partial);
    const status = observeNext(request, partial);
    if (status === Outcome.notResident) request.partial = partial;
    if (status !== Status.success) return status;
  }
  return replyValue(request, partial.value);
}

function observeNext(request: Request, partial: PartialReply): CommandResult {
  const { buffer, valueStart } = request.frame;
  const { value, nextEntry, valueEnd } = partial;
  const at = valueStart + nextEntry;
  const next = at + entryHeaderBytes + buffer.readUInt16BE(at + 2);
  const status = observeOne(request, buffer.readUInt16BE(at), at + entryHeaderBytes, next);
  if (status !== Status.success) return status;
  const stateAt = valueEnd + buffer.copy(value, valueEnd, at, next);
  partial.valueEnd = stateAt + state.copy(value, stateAt);
  partial.nextEntry = next - valueStart;
  return status;
}

/** The connection runs the request again: at once if the turn has time left. */
function continueLater(request: Request, partial: PartialReply): Outcome {
  const heldReply = holdFrame(request, 'ordered');
  heldReply.partial = partial;
  heldReply.resolve(Status.success);
  return Outcome.later;
}

/** Number of keys in the list, or -1 if it is malformed. */
function countKeys(buffer: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; count++) {
    if (at + entryHeaderBytes > end) return -1;
    const keyBytes = buffer.readUInt16BE(at + 2);
    if (keyBytes === 0 || at + entryHeaderBytes + keyBytes > end) return -1;
    at += entryHeaderBytes + keyBytes;
  }
  return count;
}

/** State and CAS of the document last observed, encoded. */
const state = Buffer.alloc(stateBytes);

function observeOne(request: Request, vb: number, keyStart: number, keyEnd: number): CommandResult {
  const { frame, documents, view, session } = request;
  const hasId = session.has(Feature.collections);
  const key = hasId ? frame.buffer : inDefault(request, keyStart, keyEnd);
  const [start, end] = hasId ? [keyStart, keyEnd] : [0, keyEnd - keyStart + 1];
  const id = end - start > observedKeyBytesMax ? -1 : readCollectionId(key, start, end);
  if (id < 0 || end - start <= collectionIdBytes(id)) return Status.invalidArguments;
  const bits = session.access?.bitsOf(id) ?? 0;
  if (bits === 0) return Status.unknownCollection;
  if ((bits & Privilege.read) === 0) return refuseMissing(request, Privilege.read);
  const status = documents.findMeta(vb, key, start, end, view);
  state.fill(0);
  state[0] = KeyState.notFound;
  if (status === Status.keyNotFound) return Status.success;
  if (status !== Status.success) return status;
  const isPersisted = view.seqno <= documents.watchPersisted(vb);
  state[0] = view.isDeleted ? KeyState.deleted : isPersisted ? KeyState.persisted : KeyState.inMemory;
  state.writeUInt32BE(clientCasHi(view), 1);
  state.writeUInt32BE(clientCasLo(view), 5);
  return Status.success;
}

/** The longest key with its collection id. */
const observedKeyBytesMax = 255;

/** The key of a client without collections, in the default collection. Keys that are too long are refused by their length. */
function inDefault({ frame, keyScratch }: Request, keyStart: number, keyEnd: number): Buffer {
  keyScratch[0] = 0;
  frame.buffer.copy(keyScratch, 1, keyStart, keyEnd);
  return keyScratch;
}
