// Functions that write replies, shared by commands.
import { writeU32, writeU64 } from '#wire/bytes.ts';
import { Feature } from '#wire/features.ts';
import { encodeDuration } from '#wire/framing.ts';
import { Datatype, Status } from '#wire/status.ts';
import type { ItemView, MutationResult } from '../data/documents.ts';
import type { Session } from '../session/session.ts';
import { legacyStatus } from './legacy-status.ts';
import { Outcome, type Request } from './request.ts';

/** Instead of a duration: the reply does not contain one. */
const noDuration = -1;

/** The encoded server duration, or `noDuration` if the client did not negotiate tracing. */
export function durationOf(request: Request): number {
  if (request.startedMs < 0) return noDuration;
  return encodeDuration((request.environment.clock.monotonicMs() - request.startedMs) * 1000);
}

/** Writes the header of a successful reply; returns the start of its body in the output. The caller attaches the last `attachedBytes`. */
export function beginReply(
  request: Request,
  extrasBytes: number,
  keyBytes: number,
  valueBytes: number,
  datatype: number,
  casHi: number,
  casLo: number,
  attachedBytes = 0,
): number {
  const { frame, output } = request;
  const duration = durationOf(request);
  return output.reply(
    frame.opcode,
    frame.opaque,
    Status.success,
    duration,
    extrasBytes,
    keyBytes,
    valueBytes,
    datatype,
    casHi,
    casLo,
    attachedBytes,
  );
}

/** Writes the header of a reply with this status and only a value; returns the start of the value in the output. */
export function beginStatusReply(
  request: Request,
  status: number,
  valueBytes: number,
  datatype = 0,
  duration = durationOf(request),
): number {
  const { frame, output } = request;
  return output.reply(frame.opcode, frame.opaque, status, duration, 0, 0, valueBytes, datatype, 0, 0);
}

/** Writes a successful reply with only a value. */
export function replyValue(request: Request, value: Buffer, datatype = 0): Outcome {
  const sentDatatype = request.session.has(Feature.json) ? datatype : datatype & ~Datatype.json;
  const at = beginReply(request, 0, 0, value.length, sentDatatype, 0, 0);
  value.copy(request.output.buffer, at);
  return Outcome.replied;
}

/** Writes the reply to a mutation: its CAS, and if negotiated its mutation token (vbucket uuid and seqno). */
export function replyMutation(request: Request, result: MutationResult, valueBytes = 0): number {
  const { output } = request;
  const withToken = request.session.features[Feature.mutationSeqno] === 1;
  const at = beginReply(request, withToken ? 16 : 0, 0, valueBytes, 0, result.casHi, result.casLo);
  if (!withToken) return at;
  const { buffer } = output;
  const { bucket, frame } = request;
  writeU32(buffer, at, bucket.uuidHi(frame.vb));
  writeU32(buffer, at + 4, bucket.uuidLo(frame.vb));
  writeU64(buffer, at + 8, result.seqno);
  return at + 16;
}

/** The CAS that is sent to clients other than the locking one: all ones while the document is locked. */
export const clientCasHi = (view: ItemView): number => (view.isLocked ? 0xffffffff : view.casHi);
export const clientCasLo = (view: ItemView): number => (view.isLocked ? 0xffffffff : view.casLo);

/** Writes a reply with a status, and its error context if negotiated. Returns false if the connection must be closed instead. */
export function replyStatus(request: Request, status: Status): boolean {
  const { session, output } = request;
  const sentStatus = session.has(Feature.xerror) ? status : legacyStatus(request.command, session, status);
  if (sentStatus === null) return false;
  const body = bodyOf(request, status);
  const datatype = body.length > 0 && session.has(Feature.json) ? Datatype.json : 0;
  const at = beginStatusReply(request, sentStatus, body.length, datatype);
  body.copy(output.buffer, at);
  return true;
}

const emptyBody = Buffer.alloc(0);

function bodyOf(request: Request, status: Status): Buffer {
  if (status === Status.success) return emptyBody;
  if (status === Status.notMyVbucket) return configBody(request);
  const isUnknownKeyspace = status === Status.unknownCollection || status === Status.unknownScope;
  if (request.context === '' && !isUnknownKeyspace) return emptyBody;
  const body: Record<string, unknown> = {};
  if (request.context !== '') body['error'] = { context: request.context };
  if (isUnknownKeyspace) body['manifest_uid'] = request.bucket.collections.uid;
  return request.session.has(Feature.xerror) || isUnknownKeyspace
    ? Buffer.from(JSON.stringify(body))
    : emptyBody;
}

/** The cluster configuration, so that the client finds the right node; if negotiated, each revision is sent only once. */
function configBody(request: Request): Buffer {
  const { session, bucket } = request;
  if (!session.has(Feature.dedupeNotMyVbucket)) return bucket.config;
  const revision = configRevision(bucket.spec.clusterConfig);
  if (session.sentConfigRevision === revision) return emptyBody;
  session.sentConfigRevision = revision;
  return bucket.config;
}

export const configRevision = (config: { revEpoch: number; rev: number }): string =>
  `${config.revEpoch}.${config.rev}`;

/** Writes the reply to a malformed frame. */
export function replyUnreadable(request: Request, session: Session): void {
  const { output } = request;
  const reason = Buffer.from(JSON.stringify({ error: { context: 'Invalid packet header' } }));
  const body = session.has(Feature.xerror) && session.has(Feature.json) ? reason : emptyBody;
  const datatype = body.length > 0 ? Datatype.json : 0;
  const at = beginStatusReply(request, Status.invalidArguments, body.length, datatype, noDuration);
  body.copy(output.buffer, at);
}
