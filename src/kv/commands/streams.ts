// Commands of change streams: open a connection, set options, request and close streams, acknowledge messages.
import { writeU64 } from '#wire/bytes.ts';
import { EndReason, OpenFlag, openFlagsKnown, StreamFlag, streamFlagsKnown } from '#wire/dcp.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { ChangeSource } from '../data/change-source.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { refuseMissing } from '../dispatch/missing-privileges.ts';
import { beginReply, durationOf } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { Producer } from '../producer/producer.ts';
import { setControl } from '../stream/controls.ts';
import { checkFilter, parseStreamValue, type StreamValue } from '../stream/filter.ts';
import { type Resumption, rollbackSeqno } from '../stream/rollback.ts';
import { getFailoverLog } from './seqnos.ts';

const nameBytesMax = 200;

/** DCP_OPEN. */
export function openStreams(request: Request): Status {
  const { frame, bucket, connection, session, environment } = request;
  const flags = frame.buffer.readUInt32BE(frame.extrasStart + 4);
  if (!bucket.engine?.changes) return request.refuse(Status.notSupported, 'The bucket has no change streams');
  if ((flags & ~openFlagsKnown) !== 0) return request.refuse(Status.invalidArguments, 'Unknown flags');
  if ((flags & OpenFlag.producer) === 0) {
    return request.refuse(
      Status.notSupported,
      'The producer flag must be set: only connections that request streams are supported',
    );
  }
  if (frame.valueStart - frame.keyStart > nameBytesMax) {
    return request.refuse(Status.invalidArguments, 'The name is too long');
  }
  if (connection.streamer !== null)
    return request.refuse(Status.invalidArguments, 'The connection is already open for change streams');
  if (session.has(Feature.unorderedExecution)) {
    return request.refuse(Status.notSupported, 'Change streams require ordered execution');
  }
  const name = frame.buffer.toString('utf8', frame.keyStart, frame.valueStart);
  if (!bucket.producers.admits(name))
    return request.refuse(Status.temporaryFailure, 'Too many connections with change streams');
  const { clock, directory } = environment;
  const { output } = request;
  const producer = new Producer({ name, flags, connection, bucket, directory, output, clock });
  connection.streamer = producer;
  bucket.producers.add(producer);
  return Status.success;
}

/** DCP_CONTROL. */
export function controlStreams(request: Request): Status {
  const producer = producerOf(request);
  if (!producer) return notOpen(request);
  const { frame } = request;
  const name = frame.buffer.toString('utf8', frame.keyStart, frame.valueStart);
  const text = frame.buffer.toString('utf8', frame.valueStart, frame.end);
  if (name === 'enable_stream_id' && producer.streamCount > 0) {
    return request.refuse(Status.invalidArguments, 'Stream ids must be enabled before the first stream');
  }
  if (setControl(producer.controls, name, text)) return Status.success;
  return request.refuse(Status.invalidArguments, 'Unknown option or invalid value');
}

/** Room for the ids of all collections that a filter may name. */
const streamValueBytesMax = 64 * 1024;

/** Work of the beginning of a stream, in bytes. */
const streamWork = 2048;

/** DCP_STREAM_REQ. */
export function requestStream(request: Request): CommandResult {
  const producer = producerOf(request);
  if (!producer) return notOpen(request);
  const { frame, session } = request;
  request.workBytes += streamWork;
  const source = request.bucket.engine?.changes;
  if (!source || !isStreamable(request, source)) return Status.notMyVbucket;
  if (frame.end - frame.valueStart > streamValueBytesMax)
    return request.refuse(
      Status.invalidArguments,
      `The description of the stream has more than ${streamValueBytesMax} bytes`,
    );
  const value = parseStreamValue(frame.buffer.toString('utf8', frame.valueStart, frame.end));
  if (!value)
    return request.refuse(
      Status.invalidArguments,
      'The value must be a JSON object that describes the stream',
    );
  if (!session.has(Feature.collections)) {
    if (frame.end > frame.valueStart) {
      return request.refuse(Status.invalidArguments, 'A stream description requires the collections feature');
    }
    value.filter = { kind: 'default' };
  }
  const status = checkRequest(request, producer, value);
  if (status !== Status.success) return status;
  return beginStream(request, producer, source, value);
}

/** Replicas are streamed, except to requests for active vbuckets only. */
function isStreamable({ frame }: Request, source: ChangeSource): boolean {
  const state = source.servedState(frame.vb);
  const flags = frame.buffer.readUInt32BE(frame.extrasStart);
  return (
    state === VbucketState.active || (state === VbucketState.replica && (flags & StreamFlag.activeOnly) === 0)
  );
}

function checkRequest(request: Request, producer: Producer, value: StreamValue): Status {
  const { frame, session, bucket } = request;
  const flags = frame.buffer.readUInt32BE(frame.extrasStart);
  if ((flags & ~streamFlagsKnown) !== 0) return request.refuse(Status.invalidArguments, 'Unknown flags');
  if ((flags & StreamFlag.takeover) !== 0) {
    return request.refuse(Status.notSupported, 'Takeover streams are not supported');
  }
  if (value.streamId > 0 !== producer.controls.streamIds) {
    return request.refuse(
      Status.streamIdInvalid,
      'A stream id is required if stream ids are enabled, and forbidden otherwise',
    );
  }
  if (value.manifestUid > Number.parseInt(bucket.collections.uid, 16)) return Status.manifestAhead;
  const access = session.access;
  const allowed = access ? checkFilter(value.filter, bucket.collections, access) : Status.noAccess;
  if (allowed === Status.noAccess) return refuseMissing(request, Privilege.dcpStream);
  if (allowed !== Status.success) return allowed;
  if (producer.find(frame.vb, value.streamId)) return Status.keyExists;
  if (producer.isFull) return request.refuse(Status.temporaryFailure, 'Too many streams on the connection');
  if (bucket.producers.isFullOfStreams)
    return request.refuse(Status.temporaryFailure, 'Too many streams on the bucket');
  return Status.success;
}

function beginStream(
  request: Request,
  producer: Producer,
  source: ChangeSource,
  value: StreamValue,
): CommandResult {
  const { frame } = request;
  const flags = frame.buffer.readUInt32BE(frame.extrasStart);
  const highSeqno = source.highSeqno(frame.vb);
  const client = resumptionOf(request);
  if ((flags & StreamFlag.fromLatest) !== 0) {
    client.startSeqno = client.snapStart = client.snapEnd = source.safeSeqno(frame.vb);
  }
  const requestedEnd = readSeqno(frame.buffer, frame.extrasStart + 16);
  const endSeqno = (flags & StreamFlag.toLatest) !== 0 ? highSeqno : requestedEnd;
  const { startSeqno, snapStart, snapEnd } = client;
  if (startSeqno > endSeqno) return request.refuse(Status.outOfRange, 'Start seqno is above the end');
  if (snapStart > startSeqno || startSeqno > snapEnd) {
    return request.refuse(Status.outOfRange, 'Start seqno is outside of its snapshot');
  }
  const status = checkHistory(request, source, client, value, flags);
  if (status !== Status.success) return status;
  const { vb, opaque } = frame;
  getFailoverLog(request);
  producer.add({
    source,
    address: { vb, opaque, streamId: value.streamId },
    filter: value.filter,
    form: producer.form((flags & StreamFlag.noValue) !== 0),
    startSeqno,
    endSeqno,
    // A client with its complete snapshot resumes at the snapshot's end.
    snapStart: startSeqno === snapEnd ? startSeqno : snapStart,
    ignorePurged: (flags & StreamFlag.ignorePurged) !== 0,
    diskOnly: (flags & StreamFlag.diskOnly) !== 0,
    documentsOnly: producer.controls.documentsOnly && startSeqno === 0,
  });
  return Outcome.replied;
}

/** Success if the client's history matches the vbucket's; else replies with the seqno to which the client must roll back. */
function checkHistory(
  request: Request,
  source: ChangeSource,
  client: Resumption,
  value: StreamValue,
  flags: number,
): CommandResult {
  const { vb } = request.frame;
  // A client without a history has no changes that a later history could lack.
  if ((flags & StreamFlag.fromLatest) !== 0 && client.uuidHi === 0 && client.uuidLo === 0)
    return Status.success;
  const failoverLog = source.failoverLog(vb);
  const highSeqno = source.highSeqno(vb);
  const purged = source.purgeSeqno(vb);
  const ignoresPurged = (flags & StreamFlag.ignorePurged) !== 0 || value.purgeSeqno >= purged;
  const seqno = rollbackSeqno(client, {
    failoverLog,
    highSeqno,
    purgeSeqno: ignoresPurged ? 0 : purged,
    strictUuid: (flags & StreamFlag.strictUuid) !== 0,
  });
  return seqno < 0 ? Status.success : replyRollback(request, seqno);
}

function replyRollback(request: Request, seqno: number): Outcome {
  const { frame, output } = request;
  const duration = durationOf(request);
  const at = output.reply(frame.opcode, frame.opaque, Status.rollback, duration, 0, 0, 8, 0, 0, 0);
  writeU64(output.buffer, at, seqno);
  return Outcome.replied;
}

function resumptionOf({ frame }: Request): Resumption {
  const { buffer, extrasStart: at } = frame;
  return {
    startSeqno: readSeqno(buffer, at + 8),
    uuidHi: buffer.readUInt32BE(at + 24),
    uuidLo: buffer.readUInt32BE(at + 28),
    snapStart: readSeqno(buffer, at + 32),
    snapEnd: readSeqno(buffer, at + 40),
  };
}

/** DCP_CLOSE_STREAM. */
export function closeStream(request: Request): Status {
  const producer = producerOf(request);
  if (!producer) return notOpen(request);
  const { frame, framing } = request;
  const { controls } = producer;
  if (framing.streamId > 0 !== controls.streamIds) return Status.streamIdInvalid;
  const stream = producer.find(frame.vb, framing.streamId);
  if (!stream) return controls.v7StatusCodes ? Status.streamNotFound : Status.keyNotFound;
  if (controls.endOnClose) stream.endSoon(EndReason.closed);
  else stream.close();
  return Status.success;
}

/** DCP_GET_FAILOVER_LOG. */
export const getStreamFailoverLog = getFailoverLog;

/** DCP_NOOP from a client. */
export function noopOfClient(request: Request): CommandResult {
  if (!producerOf(request)) return notOpen(request);
  beginReply(request, 0, 0, 0, 0, 0, 0);
  return Outcome.replied;
}

/** DCP_BUFFER_ACKNOWLEDGEMENT: has no reply. */
export function acknowledgeBuffer(request: Request): CommandResult {
  const producer = producerOf(request);
  if (!producer) return notOpen(request);
  producer.acknowledged(request.frame.buffer.readUInt32BE(request.frame.extrasStart));
  return Outcome.later;
}

function producerOf({ connection, bucket }: Request): Producer | null {
  const { streamer } = connection;
  return streamer instanceof Producer && streamer.bucket === bucket ? streamer : null;
}

const notOpen = (request: Request): Status =>
  request.refuse(Status.invalidArguments, 'The connection was not opened for change streams');

/** Numbers from 2^53 on are above every seqno: they are read as Infinity. */
function readSeqno(buffer: Buffer, at: number): number {
  const value = buffer.readUInt32BE(at) * 2 ** 32 + buffer.readUInt32BE(at + 4);
  return value >= 2 ** 53 ? Infinity : value;
}
