// Where the audit log is written: one line an event, `audit.log` in a folder of the operator's choice.
export interface AuditFile {
  /** Appends a line, after beginning a new file where the last one is too old or would grow too large. Throws when it cannot. */
  append(folder: string, line: string, limits: { rotateSeconds: number; rotateBytes: number }): void;
  /** Why the folder cannot be used; null when it can. */
  problem(folder: string): Promise<string | null>;
  close(): void;
}
