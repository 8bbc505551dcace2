// The port that stores events: lines in order of arrival; the oldest are dropped at a size limit.
export interface Journal {
  /**
   * Stores a line, which then survives the end of the process.
   * @throws Error if it cannot be written
   */
  append(line: string): void;
  /** Newest first, in segments; the lines of a segment are in ascending order. */
  segments(): AsyncIterable<string[]>;
  close(): void;
}

export interface JournalBounds {
  segmentBytes: number;
  /** How many segments are kept. */
  segments: number;
}
