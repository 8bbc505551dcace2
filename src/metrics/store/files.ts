// What the store needs of a folder. Names have no path.

export interface BlockFile {
  read(at: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

export interface LogFile {
  /** Settles once the bytes are on the disk. */
  append(bytes: Buffer): Promise<void>;
  close(): Promise<void>;
}

export interface StoreFiles {
  /** Makes the folder if it is not there, and clears away what a crash left half written. */
  list(): Promise<{ name: string; bytes: number }[]>;
  /** All of it is there afterwards, also after a loss of power, or nothing. */
  write(name: string, parts: readonly Buffer[]): Promise<void>;
  open(name: string): Promise<BlockFile>;
  readAll(name: string): Promise<Buffer>;
  /** Goes on after this many bytes; what follows them is cut off. */
  openLog(name: string, bytes: number): Promise<LogFile>;
  remove(name: string): Promise<void>;
}
