// Translates statuses of the data port to refusals of requests about documents.
import type { AppError } from '#contract/errors.ts';
import { Status } from '#wire/status.ts';
import { documentRefusals } from '../refusals/documents.refusals.ts';

export const badRequest = (reason: string): AppError => documentRefusals.badRequest({ reason });

const byStatus: ReadonlyMap<number, () => AppError> = new Map([
  [Status.keyExists, documentRefusals.otherVersion],
  [Status.locked, documentRefusals.locked],
  [Status.tooBig, () => badRequest('value: at most 20 MB')],
  [Status.invalidArguments, () => badRequest('The data service refuses this key or value')],
  [Status.unknownCollection, documentRefusals.collectionGone],
  [Status.unknownScope, documentRefusals.scopeGone],
  [Status.notSupported, documentRefusals.notSupported],
]);

/** The refusal for a status other than success. */
export const refusalOf = (status: number, isTransient: boolean): AppError =>
  byStatus.get(status)?.() ??
  (isTransient ? documentRefusals.busy() : documentRefusals.otherStatus({ status: status.toString(16) }));
