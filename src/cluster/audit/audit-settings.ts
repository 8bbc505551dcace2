// The settings of the audit log: which events, and where.

export interface AuditSettings {
  auditdEnabled: boolean;
  /** Null: the folder `logs` of the data folder. */
  logPath: string | null;
  /** Seconds and bytes after which the file is rotated; 0 bytes: no limit. */
  rotateInterval: number;
  rotateSize: number;
  disabled: readonly number[];
  disabledUsers: readonly AuditUser[];
  /** Changes with the settings. */
  uid: string;
}

export interface AuditUser {
  name: string;
  domain: string;
}

export const freshAuditSettings: AuditSettings = {
  auditdEnabled: false,
  logPath: null,
  rotateInterval: 86_400,
  rotateSize: 20 * 1024 * 1024,
  disabled: [],
  disabledUsers: [],
  uid: '0',
};
