// How the index service shares its memory quota: page caches of all files, and rows of builds. Query threads read through caches of
// their own, which are small.

const mib = 1024 * 1024;
/** A file's page cache: less makes every change a read, more than this helps none of the files measured. */
const cacheBytes = { least: mib / 4, most: 8 * mib } as const;
/** Rows of a build that wait to be sorted. */
const stageBytes = { least: mib, most: 16 * mib } as const;

export interface MemoryShares {
  readonly cacheBytes: number;
  readonly stageBytes: number;
}

/** Half of the quota is for caches and a quarter for builds; the rest is the thread's own. */
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
