// The port that stores events: lines in order of arrival; the oldest are dropped at a size limit.
export interface Journal {
  /** Stores a line durably across the end of the process. Throws if it cannot. */
  append(line: string): void;
  /** Newest first, in segments; the lines of a segment are in ascending order. */
  segments(): AsyncIterable<string[]>;
  close(): void;
}

export interface JournalBounds {
  segmentBytes: number;
  segments: number;
}
