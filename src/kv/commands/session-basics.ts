// Small commands that require no bucket.
import { errorMapJson } from '#wire/error-map.ts';
import { Datatype, Status } from '#wire/status.ts';
import { replyStatus, replyValue } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { accessTo } from '../session/session.ts';

/** NOOP. */
export const noop = (): Status => Status.success;

/** VERSION. */
export const version = (request: Request): Outcome =>
  replyValue(request, Buffer.from(request.environment.version));

/** VERBOSITY. */
export const verbosity = (): Status => Status.success;

/** QUIT. */
export function quit(request: Request): Outcome {
  replyStatus(request, Status.success);
  return Outcome.close;
}

/** QUITQ. */
export const quitQuietly = (): Outcome => Outcome.close;

/** GET_ERROR_MAP. */
export function getErrorMap(request: Request): CommandResult {
  const { frame } = request;
  if (frame.end - frame.valueStart !== 2)
    return request.refuse(Status.invalidArguments, 'The value must be a version of 2 bytes');
  const formatMax = frame.buffer.readUInt16BE(frame.valueStart);
  if (formatMax === 0) return Status.keyNotFound;
  return replyValue(request, Buffer.from(errorMapJson(formatMax)), Datatype.json);
}

/** LIST_BUCKETS: the buckets that the user may select. */
export function listBuckets(request: Request): Outcome {
  const { user } = request.session;
  const buckets = [...request.environment.directory.buckets.values()];
  const visible = buckets.filter((bucket) => user && accessTo(bucket, user).anywhere !== 0);
  return replyValue(request, Buffer.from(visible.map((bucket) => bucket.name).join(' ')));
}
