// The port for writing the audit log: one line for each event, `audit.log` in a configured folder.
export interface AuditFile {
  /** Appends a line, after rotating a file that is too old or would grow too large. Throws if it cannot. */
  append(folder: string, line: string, limits: { rotateSeconds: number; rotateBytes: number }): void;
  /** The reason why the folder cannot be used; null if it can. */
  problem(folder: string): Promise<string | null>;
  close(): void;
}
