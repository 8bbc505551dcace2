// Gives memory back to the machine when a thread has nothing to do. V8 lets a heap grow with the work and collects it only when more
// is asked for: what the start, or an hour of load, needed would stay with a node that nobody uses, some 8 MB in the main thread.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Taking samples each second is below; a collection holds the thread for 10 to 25 ms, which no client shall notice. */
const idleShare = 0.01;
const defaults = {
  lookEveryMs: 5_000,
  /** Growth since the last time that is worth a collection, which may also drop compiled code that was in use. */
  worthBytes: 2 << 20,
};

/** For the calling thread, once it was idle for `lookEveryMs`; it lets the thread end. */
export function giveBackWhenIdle(given: Partial<typeof defaults> = {}): void {
  const { lookEveryMs, worthBytes } = { ...defaults, ...given };
  let workedBefore = workedMs();
  let keptBytes = 0;
  setInterval(() => {
    const worked = workedMs();
    const isIdle = worked - workedBefore < idleShare * lookEveryMs;
    workedBefore = worked;
    if (!isIdle || getHeapStatistics().total_heap_size < keptBytes + worthBytes) return;
    if (collectAll()) keptBytes = getHeapStatistics().total_heap_size;
  }, lookEveryMs).unref();
}

/** The processor time of this thread: that of the clock is also long where others keep the machine busy. */
function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * The flag, which is the process's, is set back at once: code that was compiled under other flags is not taken from the compile cache.
 * False when another thread set it back in that moment.
 */
function collectAll(): boolean {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as NodeJS.GCFunction | undefined;
  setFlagsFromString('--no-expose-gc');
  collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  return collect !== undefined;
}
