// Converts the thread settings, words or numbers, to numbers of threads.
import type { KvThreads, ThreadCount } from '../admin.ts';
import type { DiskThreads } from '../data/disk-engine.ts';

export const defaultThreads: KvThreads = { readers: 'default', writers: 'default', storage: 'default' };

/** Disk threads wait for the disk most of the time, so several are useful even with one processor. */
const optimized = { min: 4, max: 64 };

export function diskThreads({ readers, writers, storage }: KvThreads, processors: number): DiskThreads {
  return {
    readers: countOf(readers, processors),
    writers: countOf(writers, processors),
    compactors: countOf(storage, processors),
  };
}

function countOf(wanted: ThreadCount, processors: number): number {
  if (wanted === 'default') return 1;
  if (wanted !== 'disk_io_optimized') return wanted;
  return Math.min(Math.max(processors, optimized.min), optimized.max);
}
