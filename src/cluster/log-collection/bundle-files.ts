// The interface to the files of support bundles, and to the log files that they contain.

/** One file of a bundle, read in pieces while the bundle is written. */
export interface BundleEntry {
  readonly name: string;
  pieces(): AsyncIterable<string>;
}

export interface BundleFiles {
  /** The folder for requests that name none; old bundles in it are deleted. */
  readonly folder: string;
  /** Writes a zip file; removes it if the writing fails or is cancelled. */
  write(path: string, entries: readonly BundleEntry[], run: BundleRun): Promise<void>;
  /** Names of the log files that start with one of the prefixes, the newest first. */
  logs(folder: string, prefixes: readonly string[]): Promise<string[]>;
  /** The whole lines within the last `bytesMax` bytes of a file. */
  tail(folder: string, name: string, bytesMax: number): AsyncIterable<string>;
  /** Sizes of the files of the data folder by their path in it. */
  sizes(): Promise<Record<string, number>>;
}

export interface BundleRun {
  readonly signal: AbortSignal;
  /** Called after each entry. */
  readonly entryWritten: () => void;
}
