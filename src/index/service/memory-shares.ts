// Divides the memory quota of the index service between page caches of files and rows of builds. Query threads have
// small caches of their own outside of the quota.

const mib = 1024 * 1024;
/** Bounds of a file's page cache: with less every change reads from disk; more did not help in measurements. */
const cacheBytes = { least: mib / 4, most: 8 * mib } as const;
/** Bounds of the rows that a build collects in memory (stages) before it writes them to the file. */
const stageBytes = { least: mib, most: 16 * mib } as const;

export interface MemoryShares {
  readonly cacheBytes: number;
  readonly stageBytes: number;
}

/** Half of the quota is for caches and a quarter for builds; the rest is for the index thread itself. With many files the least of each may be more than the quota. */
export function memoryShares(
  quotaBytes: number,
  { files, builds }: { files: number; builds: number },
): MemoryShares {
  return {
    cacheBytes: within(cacheBytes, quotaBytes / 2 / Math.max(1, files)),
    stageBytes: within(stageBytes, quotaBytes / 4 / Math.max(1, builds)),
  };
}

const within = ({ least, most }: { least: number; most: number }, bytes: number): number =>
  Math.floor(Math.min(Math.max(bytes, least), most));
