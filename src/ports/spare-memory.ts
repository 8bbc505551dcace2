// Returns memory to the system while a thread is idle. V8 collects garbage only when more memory is requested: what the start or an
// hour of load needed would stay allocated in an idle node, about 8 MB in the main thread.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * A thread that worked for a smaller share of the time is idle; sampling metrics every second stays below it. A collection blocks
 * the thread for 10 to 25 ms, so it runs only while no client is served.
 */
const idleShare = 0.01;
const defaults = {
  checkEveryMs: 5_000,
  /**
   * A thread that stays idle and grows all the same, because it samples many buckets, would collect again at every check. Each time in a
   * row it waits twice as long, up to this.
   */
  waitMaxMs: 600_000,
  /** The heap growth that justifies a collection (which may also drop compiled code). */
  growthBytes: 2 << 20,
  /** Gives up what the idle thread keeps to use it again. Returns whether there is garbage of other kinds than the heap's. */
  release: (): boolean => false,
};

/** Watches the calling thread and collects after it was idle for `checkEveryMs`. Does not keep the thread alive. */
export function releaseMemoryWhenIdle(given: Partial<typeof defaults> = {}): void {
  const { checkEveryMs, growthBytes, release, waitMaxMs } = { ...defaults, ...given };
  let workedBefore = workedMs();
  let collectedToBytes = 0;
  let waitMs = checkEveryMs;
  let waitedMs = checkEveryMs;
  let hasReleased = false;
  setInterval(() => {
    const worked = workedMs();
    const isIdle = worked - workedBefore < idleShare * checkEveryMs;
    workedBefore = worked;
    waitedMs += checkEveryMs;
    if (!isIdle) waitMs = checkEveryMs;
    if (!isIdle || waitedMs < waitMs) return;
    hasReleased = release() || hasReleased;
    const hasGrown = getHeapStatistics().total_heap_size >= collectedToBytes + growthBytes;
    if (!(hasGrown || hasReleased) || !collectAll()) return;
    hasReleased = false;
    collectedToBytes = getHeapStatistics().total_heap_size;
    waitMs = Math.min(2 * waitMs, waitMaxMs);
    waitedMs = 0;
  }, checkEveryMs).unref();
}

/** Processor time of this thread; elapsed time would be long on a busy machine too. */
function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Collects all garbage of the calling thread, and gives what it can to the system; false: another thread collects just now. */
function collectAll(): boolean {
  const collect = collector();
  collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  return collect !== undefined;
}

/**
 * Collects the garbage of the calling thread. Call it after much memory became garbage at once: V8 would wait until the heap has
 * grown to four times the memory in use, and the time of a collection depends on what is still in use.
 */
export function collectGarbage(): void {
  collector()?.({ type: 'major', execution: 'sync', flavor: 'regular' });
}

/**
 * Keeps the young generation of the main thread's heap at its present size, 32 MB at most. V8 doubles that size once enough objects have
 * survived collections, and takes no limit for it after the start. For commands whose objects are short-lived, however many they are.
 */
export function keepYoungGenerationSize(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

let exposedCollector: NodeJS.GCFunction | undefined;

/**
 * Exposes `gc` through a process-wide flag and resets the flag at once: code compiled under other flags is not taken from the
 * compile cache. Returns undefined if another thread reset it in between.
 */
function collector(): NodeJS.GCFunction | undefined {
  if (exposedCollector !== undefined) return exposedCollector;
  setFlagsFromString('--expose-gc');
  exposedCollector = runInNewContext('globalThis.gc') as NodeJS.GCFunction | undefined;
  setFlagsFromString('--no-expose-gc');
  return exposedCollector;
}
