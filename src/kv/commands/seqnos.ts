// Seqnos and failover logs of vbuckets.
import { writeU64 } from '#wire/bytes.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { EventProgress } from '../data/change-source.ts';
import type { Documents } from '../data/documents.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { holdFrame } from '../dispatch/delayed-reply.ts';
import { refuseMissing } from '../dispatch/missing-privileges.ts';
import { beginReply, replyValue } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';

/** GET_FAILOVER_LOG. */
export function getFailoverLog(request: Request): CommandResult {
  const { frame, documents } = request;
  if (documents.stateOf(frame.vb) === VbucketState.dead) return Status.notMyVbucket;
  const log = documents.failoverLog(frame.vb);
  let at = beginReply(request, 0, 0, log.length * 16, 0, 0, 0);
  const { buffer } = request.output;
  for (const entry of log) {
    buffer.writeUInt32BE(entry.uuidHi, at);
    buffer.writeUInt32BE(entry.uuidLo, at + 4);
    writeU64(buffer, at + 8, entry.seqno);
    at += 16;
  }
  return Outcome.replied;
}

/** GET_VBUCKET. */
export function getVbucket(request: Request): CommandResult {
  const present = request.documents.stateOf(request.frame.vb);
  if (present === VbucketState.dead) return Status.notMyVbucket;
  const state = Buffer.alloc(4);
  state.writeUInt32BE(present);
  return replyValue(request, state);
}

/** Work of reading the seqno of one vbucket, in bytes. */
const vbucketWork = 32;

/** In GET_ALL_VB_SEQNOS: every state but `dead`. */
const anyAlive = 0;

/** A vbucket and its seqno. */
const seqnoBytes = 10;

/** How long GET_ALL_VB_SEQNOS waits for system events. */
const eventsLimitMs = 10_000;

/**
 * GET_ALL_VB_SEQNOS. The reply waits until the events of the newest manifest are recorded in each vbucket: a client that has the manifest and
 * reads up to these seqnos must find them.
 */
export function getAllVbSeqnos(request: Request): CommandResult {
  const { frame, documents } = request;
  const hasState = frame.keyStart > frame.extrasStart;
  const state = hasState ? frame.buffer.readUInt32BE(frame.extrasStart) : anyAlive;
  if (state > VbucketState.dead) return request.refuse(Status.invalidArguments, 'Unknown vbucket state');
  const collection = readCollection(request);
  const status = collection === null ? Status.success : checkCollection(request, collection);
  if (status !== Status.success) return status;
  const events = request.bucket.engine?.changes?.events;
  if (events?.isBehind && request.resumed === null) return whenRecorded(request, events);
  request.workBytes += documents.vbucketCount * vbucketWork;
  return replyValue(request, encodeSeqnos(documents, state, collection));
}

/** Runs the request again once the events are recorded: its collection may have been dropped meanwhile. */
function whenRecorded(request: Request, events: EventProgress): Outcome {
  const heldReply = holdFrame(request, 'ordered');
  events.whenRecordedOrAfter(eventsLimitMs, () => heldReply.resolve(Status.success));
  return Outcome.later;
}

/** Each vbucket in this state, with its highest seqno. */
function encodeSeqnos(documents: Documents, state: number, collection: number | null): Buffer {
  const listed: number[] = [];
  for (let vb = 0; vb < documents.vbucketCount; vb++) {
    const present = documents.stateOf(vb);
    if (present !== VbucketState.dead && (state === anyAlive || state === present)) listed.push(vb);
  }
  const value = Buffer.allocUnsafe(listed.length * seqnoBytes);
  let at = 0;
  for (const vb of listed) {
    value.writeUInt16BE(vb, at);
    const seqno = collection === null ? documents.highSeqno(vb) : documents.collectionSeqno(vb, collection);
    writeU64(value, at + 2, seqno);
    at += seqnoBytes;
  }
  return value;
}

/** The requested collection, null for all. Clients without collections request the default collection. */
function readCollection({ frame, session }: Request): number | null {
  if (frame.keyStart - frame.extrasStart === 8) return frame.buffer.readUInt32BE(frame.extrasStart + 4);
  return session.has(Feature.collections) ? null : 0;
}

function checkCollection(request: Request, collection: number): Status {
  const bits = request.session.access?.bitsOf(collection) ?? 0;
  if (bits === 0) return request.refuse(Status.unknownCollection, 'Unknown collection');
  return (bits & Privilege.read) === 0 ? refuseMissing(request, Privilege.read) : Status.success;
}

const persistenceTimeoutMs = 30_000;

/** SEQNO_PERSISTENCE. */
export function seqnoPersistence(request: Request): CommandResult {
  const { frame, documents } = request;
  if (documents.stateOf(frame.vb) === VbucketState.dead) return Status.notMyVbucket;
  const high = frame.buffer.readUInt32BE(frame.extrasStart);
  const seqno = high * 2 ** 32 + frame.buffer.readUInt32BE(frame.extrasStart + 4);
  if (seqno <= documents.safePersistedSeqno(frame.vb)) return Status.success;
  // A seqno above the highest one may never be assigned: waiting would only block the connection.
  if (seqno > documents.highSeqno(frame.vb)) return Status.temporaryFailure;
  const heldReply = request.connection.holdReply(request, 'ordered');
  documents.whenPersisted(frame.vb, seqno, persistenceTimeoutMs, (isPersisted) =>
    heldReply.resolve(isPersisted ? Status.success : Status.temporaryFailure),
  );
  return Outcome.later;
}
