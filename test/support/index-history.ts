// Checks the answers of queries with a scan consistency (`request_plus`, `at_plus`) against what clients wrote. Every key has one writer,
// which writes rising numbers one after the other; times come from one clock.

export interface Interval {
  readonly startMs: number;
  readonly endMs: number;
}

export interface Write extends Interval {
  readonly key: string;
  readonly value: number;
  /** False: it failed or its outcome is unknown. */
  readonly isAcknowledged: boolean;
  /** Acknowledged after it was on disk. */
  readonly isDurable: boolean;
}

export interface Read extends Interval {
  /** The rows of the index. */
  readonly rows: readonly (readonly [key: string, value: number])[];
  /** The writes whose tokens the read named; absent: `request_plus`, which sees all writes acknowledged before it. */
  readonly after?: readonly Write[];
}

export interface FailedRead extends Interval {
  readonly reason: string;
}

export interface History {
  readonly writes: readonly Write[];
  readonly reads: readonly Read[];
  readonly failedReads: readonly FailedRead[];
  /** Flushes, and drops of the collection: all documents are gone. */
  readonly resets: readonly Interval[];
  /** From a kill until the next start is ready: writes that were not durable may be gone. */
  readonly crashes: readonly Interval[];
  /** Intervals in which statements may fail, such as drops of the index and restarts. */
  readonly disturbances: readonly Interval[];
}

/** A failed read that took longer counts as a hang, also during a disturbance. */
export const hangMs = 120_000;

/** Returns a sentence for each answer that is not allowed, and for each failure without a disturbance. */
export function violations(history: History): string[] {
  const writes = Map.groupBy(history.writes, ({ key }) => key);
  return [
    ...history.reads.flatMap((read) => violationsOf(read, writes, history)),
    ...history.failedReads.flatMap((failed) => failureOf(failed, history)),
  ];
}

function violationsOf(read: Read, writes: ReadonlyMap<string, readonly Write[]>, history: History): string[] {
  const found: string[] = [];
  const when = `the read from ${read.startMs} to ${read.endMs}`;
  const rows = new Map(read.rows);
  if (rows.size < read.rows.length) found.push(`${when} has a key twice`);
  for (const key of rows.keys())
    if (!writes.has(key)) found.push(`${when} has ${key}, which was never written`);
  for (const [key, all] of writes) {
    const seen = rows.get(key);
    const least = requiredOf(read, all, history);
    if (least !== undefined && (seen === undefined || seen < least.value))
      found.push(
        `${when} has ${seen === undefined ? 'no value' : `value ${seen}`} for ${key}, less than ${least.value}`,
      );
    const reason = seen === undefined ? null : whyImpossible(seen, all, read, history);
    if (reason !== null) found.push(`${when} has value ${seen} for ${key}, ${reason}`);
  }
  return found;
}

/** The newest write that the read must see, if nothing can have removed it. */
function requiredOf(read: Read, writes: readonly Write[], history: History): Write | undefined {
  const named = read.after && new Set(read.after);
  return writes.findLast((write) => {
    if (!write.isAcknowledged || write.endMs >= read.startMs || (named && !named.has(write))) return false;
    const since = { startMs: write.startMs, endMs: read.endMs };
    if (history.resets.some((reset) => overlap(reset, since))) return false;
    return write.isDurable || !history.crashes.some((crash) => overlap(crash, since));
  });
}

/** Why the read cannot have seen this value; null if it can. */
function whyImpossible(
  seen: number,
  writes: readonly Write[],
  read: Read,
  { resets }: History,
): string | null {
  const write = writes.find(({ value }) => value === seen);
  if (write === undefined || write.startMs > read.endMs) return 'which was not written by then';
  const isGone = resets.some(({ startMs, endMs }) => write.endMs < startMs && endMs < read.startMs);
  return isGone ? 'which was removed before' : null;
}

function failureOf(failed: FailedRead, { resets, crashes, disturbances }: History): string[] {
  const isExcused = [...resets, ...crashes, ...disturbances].some((interval) => overlap(interval, failed));
  if (isExcused && failed.endMs - failed.startMs < hangMs) return [];
  return [`the read from ${failed.startMs} to ${failed.endMs} failed: ${failed.reason}`];
}

const overlap = (a: Interval, b: Interval): boolean => a.startMs <= b.endMs && b.startMs <= a.endMs;
