// The port to the folder in which an operator places certificates: `inbox` of the data folder.

export interface InboxFile {
  readonly path: string;
  /** Null if the file could not be read; `problem` has the reason. */
  readonly text: string | null;
  readonly problem: string;
}

export interface Inbox {
  /** `CA/*`, by name. */
  authorities(): Promise<{ folder: string; files: InboxFile[] }>;
  /** `chain.pem`. */
  chain(): Promise<InboxFile>;
  /** `pkey.key`. */
  key(): Promise<InboxFile>;
}
