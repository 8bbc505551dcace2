// The folder operations that the store of metric samples needs. Names contain no path.

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
  /** Keeps the first `keptBytes` of the file, removes what follows, and appends there. */
  openLog(name: string, keptBytes: number): Promise<LogFile>;
  remove(name: string): Promise<void>;
}
