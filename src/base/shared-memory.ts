// Shared memory whose size the garbage collector knows. V8 counts ordinary buffers and collects them when many are unused. It
// does not count shared ones, since several threads may refer to one, so a thread with few other objects would keep gigabytes of
// unused ones. To each shared one this file attaches ordinary buffers of the same size, which live as long and are counted. Nothing is ever
// written to those, so they take addresses and no memory.

/** Below this size memory from the process's allocator is cheaper than new pages of the system. */
const pagedFrom = 1024 * 1024;
/** Memory that is filled bit by bit is reported in steps of this size. */
const reportStepBytes = 1024 * 1024;

interface ReportedMemory extends SharedArrayBuffer {
  countedBuffers?: ArrayBuffer[];
  reportedBytes?: number;
}

/** Memory for bytes that another thread may read; null if the system has none. The caller reports it to the collector. */
export const sharedMemory = (bytes: number): SharedArrayBuffer | null =>
  bytes < pagedFrom ? attempt(() => new SharedArrayBuffer(bytes)) : pagedMemory(bytes);

/**
 * Memory in pages of the system, which take memory only once they are written to and return to the system when freed. V8 uses such pages
 * for memory that may grow, which is why `maxByteLength` is given. Other memory comes from the process's allocator, which clears it at
 * once and never returns freed buffers of some sizes.
 */
export const pagedMemory = (bytes: number): SharedArrayBuffer | null =>
  attempt(() => new SharedArrayBuffer(bytes, { maxByteLength: bytes }));

/**
 * Lets the collector of this thread count the first `bytes` of the memory, those that were written to. Memory that another thread has
 * sent is reported too, because each thread keeps it.
 */
export function reportToCollector(memory: SharedArrayBuffer, bytes: number = memory.byteLength): void {
  const reported: ReportedMemory = memory;
  const { countedBuffers = [], reportedBytes = 0 } = reported;
  if (bytes <= reportedBytes) return;
  const more = Math.min(Math.max(bytes - reportedBytes, reportStepBytes), memory.byteLength - reportedBytes);
  // A buffer that can grow takes only addresses: one that cannot is cleared, which takes memory. Without free addresses the collector counts less.
  const counted = attempt(() => new ArrayBuffer(more, { maxByteLength: more }));
  if (counted !== null) countedBuffers.push(counted);
  reported.countedBuffers = countedBuffers;
  reported.reportedBytes = reportedBytes + more;
}

function attempt<T>(allocate: () => T): T | null {
  try {
    return allocate();
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
