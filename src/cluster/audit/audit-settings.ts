// The settings of the audit log: which events, and where.
import { statementEvents } from '#query/audit.contract.ts';

export interface AuditSettings {
  auditdEnabled: boolean;
  /** Null: the folder `logs` of the data folder. */
  logPath: string | null;
  /** Seconds after which the file is rotated. */
  rotateInterval: number;
  /** Bytes after which the file is rotated; 0: no limit. */
  rotateSize: number;
  /** Ids of events that are not recorded. */
  disabled: readonly number[];
  disabledUsers: readonly AuditUser[];
  /** A new random id after each change of the settings. */
  uid: string;
}

export interface AuditUser {
  name: string;
  domain: string;
}

/** As published, statements are recorded only after an operator enabled their events. */
export const defaultAuditSettings: AuditSettings = {
  auditdEnabled: false,
  logPath: null,
  rotateInterval: 86_400,
  rotateSize: 20 * 1024 * 1024,
  disabled: statementEvents.map(({ id }) => id),
  disabledUsers: [],
  uid: '0',
};
