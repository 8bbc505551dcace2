// Where events are kept: lines, in the order they came, the oldest dropped when a bound is reached.
export interface Journal {
  /** Keeps a line over the end of the process. Throws when it cannot. */
  append(line: string): void;
  /** The newest lines first, in pieces; within a piece the oldest first. */
  pieces(): AsyncIterable<string[]>;
  close(): void;
}

export interface JournalBounds {
  pieceBytes: number;
  pieces: number;
}
