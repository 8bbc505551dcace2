// Why a request about documents is refused, in the published form: `{"error":"…","reason":"…"}`.
import { type AppError, refuse } from '#contract/errors.ts';
import { Status } from '#wire/status.ts';

const refusal = (status: number, error: string, reason: string): AppError =>
  refuse.json({ error, reason }, status);

export const badRequest = (reason: string): AppError => refusal(400, 'bad_request', reason);

export const busy = (): AppError =>
  refusal(503, 'temporary_failure', 'The data service cannot do this now; try again later');

const byStatus: ReadonlyMap<number, () => AppError> = new Map([
  [Status.keyExists, () => refusal(409, 'conflict', 'cas: the document has another version')],
  [Status.locked, () => refusal(409, 'conflict', 'The document is locked')],
  [Status.tooBig, () => badRequest('value: at most 20 MB')],
  [Status.invalidArguments, () => badRequest('The data service refuses this key or value')],
  [Status.unknownCollection, () => refusal(404, 'not_found', 'The collection is gone')],
  [Status.unknownScope, () => refusal(404, 'not_found', 'The scope is gone')],
  [Status.notSupported, () => refusal(501, 'memcached_error', 'not_supported')],
]);

/** For a status of the data port other than success. */
export const refusalOf = (status: number, isPassing: boolean): AppError =>
  byStatus.get(status)?.() ??
  (isPassing ? busy() : refusal(500, 'memcached_error', `status 0x${status.toString(16)}`));
