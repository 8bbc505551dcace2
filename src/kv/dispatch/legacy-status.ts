// Statuses as clients see them that have not asked for the extended ones: older codes, or the end of the connection.

import { GetAndLock } from '#wire/commands/documents.ts';
import type { Command } from '#wire/define-command.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import type { Session } from '../session/session.ts';

/** For codes that such a client cannot be told. */
export const hangUp = -1;

const replaced = new Map<number, number>([
  [Status.locked, Status.keyExists],
  [Status.casValueInvalid, Status.keyExists],
  [Status.notLocked, Status.temporaryFailure],
  [Status.syncWriteInProgress, Status.temporaryFailure],
  [Status.syncWriteRecommitInProgress, Status.temporaryFailure],
]);

const closing = new Set<number>([
  Status.authStale,
  Status.noAccess,
  Status.noBucket,
  Status.durabilityInvalidLevel,
  Status.durabilityImpossible,
  Status.syncWriteAmbiguous,
  Status.vbUuidNotEqual,
]);

export function legacyStatus(command: Command | undefined, session: Session, status: Status): number {
  if (closing.has(status)) return hangUp;
  if (status === Status.locked && command === GetAndLock) return Status.temporaryFailure;
  const isUnknownPlace = status === Status.unknownCollection || status === Status.unknownScope;
  if (isUnknownPlace && !session.has(Feature.collections)) return Status.invalidArguments;
  return replaced.get(status) ?? status;
}
