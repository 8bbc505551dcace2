// The folder that an operator puts certificates into: `inbox` of the data folder.

export interface InboxFile {
  readonly path: string;
  /** Null when it could not be read, and then why. */
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
