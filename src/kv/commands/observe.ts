// How far a vbucket and its documents are: what is current, what is on disk.

import { collectionIdBytes, readCollectionId } from '#wire/collection-id.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import { beginReply, shownCasHi, shownCasLo, writeSeqno } from '../dispatch/reply.ts';
import { Outcome, type Request } from '../dispatch/request.ts';

/** OBSERVE_SEQNO. */
export function observeSeqno(request: Request): Status | Outcome {
  const { frame, documents } = request;
  if (frame.end - frame.valueStart !== 8)
    return request.refuse(Status.invalidArguments, 'Value must be a uuid');
  if (!documents.isActive(frame.vb)) return Status.notMyVbucket;
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
  writeSeqno(buffer, at + 11, documents.persistedSeqno(frame.vb));
  writeSeqno(buffer, at + 19, documents.highSeqno(frame.vb));
  if (!isOld) return Outcome.replied;
  buffer.writeUInt32BE(uuidHi, at + 27);
  buffer.writeUInt32BE(uuidLo, at + 31);
  // The old life of the vbucket ended where the next newer one began.
  writeSeqno(buffer, at + 35, log[index - 1]?.seqno ?? 0);
  return Outcome.replied;
}

const KeyState = { inMemory: 0x00, persisted: 0x01, notFound: 0x80, deleted: 0x81 } as const;

/** OBSERVE: the state of each document that the value names. */
export function observe(request: Request): Status | Outcome {
  const { frame } = request;
  const { buffer } = frame;
  const states: Buffer[] = [];
  for (let at = frame.valueStart; at < frame.end; ) {
    if (at + 4 > frame.end) return request.refuse(Status.invalidArguments, 'Invalid packet structure');
    const vb = buffer.readUInt16BE(at);
    const keyStart = at + 4;
    const keyEnd = keyStart + buffer.readUInt16BE(at + 2);
    if (keyEnd > frame.end || keyEnd === keyStart) {
      return request.refuse(Status.invalidArguments, 'Invalid packet structure');
    }
    const status = observeOne(request, vb, keyStart, keyEnd);
    if (status !== Status.success) return status;
    states.push(buffer.subarray(at, keyEnd), Buffer.from(state));
    at = keyEnd;
  }
  const value = Buffer.concat(states);
  value.copy(request.output.buffer, beginReply(request, 0, 0, value.length, 0, 0, 0));
  return Outcome.replied;
}

/** State and CAS of the document last looked at. */
const state = Buffer.alloc(9);

function observeOne(request: Request, vb: number, keyStart: number, keyEnd: number): Status {
  const { frame, documents, view, session } = request;
  let key = Buffer.concat([Buffer.from([0]), frame.buffer.subarray(keyStart, keyEnd)]);
  if (session.has(Feature.collections)) key = key.subarray(1);
  const id = readCollectionId(key, 0, key.length);
  if (id < 0 || key.length <= collectionIdBytes(id)) return Status.invalidArguments;
  const bits = session.access?.of(id) ?? 0;
  if (bits === 0) return Status.unknownCollection;
  if ((bits & Privilege.read) === 0) return Status.noAccess;
  const status = documents.findMeta(vb, key, 0, key.length, view);
  state.fill(0);
  state[0] = KeyState.notFound;
  if (status === Status.keyNotFound) return Status.success;
  if (status !== Status.success) return status;
  const isPersisted = view.seqno <= documents.persistedSeqno(vb);
  state[0] = view.deleted ? KeyState.deleted : isPersisted ? KeyState.persisted : KeyState.inMemory;
  state.writeUInt32BE(shownCasHi(view), 1);
  state.writeUInt32BE(shownCasLo(view), 5);
  return Status.success;
}
