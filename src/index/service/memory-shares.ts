// Divides the memory quota of the index service between page caches of files and rows of builds. Query threads have
// small caches of their own outside of the quota.

const kib = 1024;
const mib = 1024 * kib;
/**
 * Bounds of a file's page cache. The least is 16 pages, with which a change takes a third more processor time than with 64. More than the most
 * made nothing faster in measurements.
 */
const cacheBytes = { least: 64 * kib, most: 8 * mib } as const;
/**
 * Bounds of the memory for rows that a build stages before it writes them to the file. With the least, writing takes twice the processor time
 * that it takes with a mebibyte.
 */
const stageBytes = { least: 64 * kib, most: 16 * mib } as const;

export interface MemoryShares {
  readonly cacheBytes: number;
  readonly stageBytes: number;
}

/**
 * Half of the quota is for caches and a quarter for builds; the rest is for the index thread itself. The least quota, 256 MiB, suffices for 2,048
 * files and 1,024 builds at a time; with more, the least shares together exceed the quota.
 */
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
