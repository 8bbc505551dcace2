// The folder operations that the store needs. Names contain no path.

export interface BlockFile {
  read(offset: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

export interface LogFile {
  /** Resolves once the bytes are synced. */
  append(bytes: Buffer): Promise<void>;
  close(): Promise<void>;
}

export interface StoreFiles {
  /** Creates the folder if needed, and removes partial files left by a crash. */
  list(): Promise<{ name: string; bytes: number }[]>;
  /** Writes the file atomically: after a crash or power loss it is complete or absent. */
  write(name: string, parts: readonly Buffer[]): Promise<void>;
  open(name: string): Promise<BlockFile>;
  readAll(name: string): Promise<Buffer>;
  /** Appends after this many bytes and truncates what follows them. */
  openLog(name: string, bytes: number): Promise<LogFile>;
  remove(name: string): Promise<void>;
}
