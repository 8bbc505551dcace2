// Statuses for clients that did not negotiate extended errors: an older code, or closing the connection.

import { GetAndLock } from '#wire/commands/documents.ts';
import type { Command } from '#wire/define-command.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import type { Session } from '../session/session.ts';

const replaced = new Map<Status, Status>([
  [Status.locked, Status.keyExists],
  [Status.casValueInvalid, Status.keyExists],
  [Status.notLocked, Status.temporaryFailure],
  [Status.rateLimitedIngress, Status.temporaryFailure],
  [Status.rateLimitedEgress, Status.temporaryFailure],
  [Status.rateLimitedConnections, Status.temporaryFailure],
  [Status.rateLimitedCommands, Status.temporaryFailure],
  [Status.syncWriteInProgress, Status.temporaryFailure],
  [Status.syncWriteRecommitInProgress, Status.temporaryFailure],
]);

/** No older code exists for these: the connection is closed. */
const closing = new Set<Status>([
  Status.authStale,
  Status.noAccess,
  Status.noBucket,
  Status.durabilityInvalidLevel,
  Status.durabilityImpossible,
  Status.streamIdInvalid,
  Status.syncWriteAmbiguous,
  Status.rangeScanCancelled,
  Status.vbUuidNotEqual,
]);

/** The status to send, or null to close the connection. */
export function legacyStatus(command: Command | undefined, session: Session, status: Status): Status | null {
  if (closing.has(status)) return null;
  if (status === Status.locked && command === GetAndLock) return Status.temporaryFailure;
  const isUnknownKeyspace = status === Status.unknownCollection || status === Status.unknownScope;
  if (isUnknownKeyspace && !session.has(Feature.collections)) return Status.invalidArguments;
  return replaced.get(status) ?? status;
}
