// The port for the files of support bundles.

/** One file of a bundle. Its pieces are read while it is written. */
export interface BundleEntry {
  readonly name: string;
  pieces(): AsyncIterable<string>;
}

export interface BundleFiles {
  /** The folder of bundles whose request names none; old ones in it make room. */
  readonly folder: string;
  /** Writes a zip file. Of one that fails or is cancelled nothing is left. */
  write(path: string, entries: readonly BundleEntry[], run: BundleRun): Promise<void>;
  /** Names of the log files that start with one of the prefixes, the newest first. */
  logs(folder: string, prefixes: readonly string[]): Promise<string[]>;
  /** Whole lines, at most the last bytes of that number. */
  tail(folder: string, name: string, bytesMax: number): AsyncIterable<string>;
  /** Sizes of the files of the data folder by their path in it. */
  sizes(): Promise<Record<string, number>>;
}

export interface BundleRun {
  readonly signal: AbortSignal;
  /** An entry was written. */
  readonly done: () => void;
}
