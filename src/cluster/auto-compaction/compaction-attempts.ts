// Automatic compactions that were started, so that a bucket whose compaction fails or releases nothing is retried
// at growing intervals and not continuously.
import type { Clock } from '#ports/clock.ts';

export const pauseMs = { first: 60_000, longest: 3_600_000 };

interface Attempt {
  /** The settings with which the compaction was started, as text; a change of them allows a retry at once. */
  rules: string;
  isRunning: boolean;
  /** Bytes that the compaction could release when it started. */
  freeBytes: number;
  /** Consecutive attempts that released less than half of `freeBytes`. */
  unproductive: number;
  notBeforeMs: number;
}

export class CompactionAttempts {
  readonly #clock: Clock;
  readonly #byBucket = new Map<string, Attempt>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get anyRunning(): boolean {
    return [...this.#byBucket.values()].some(({ isRunning }) => isRunning);
  }

  /** Whether the bucket may be compacted now. With other rules than at the last attempt it begins anew, without a pause. */
  mayBegin(uuid: string, rules: string): boolean {
    const attempt = this.#byBucket.get(uuid);
    if (attempt?.rules === rules) return this.#clock.monotonicMs() >= attempt.notBeforeMs;
    this.#byBucket.set(uuid, { rules, isRunning: false, freeBytes: 0, unproductive: 0, notBeforeMs: 0 });
    return true;
  }

  begun(uuid: string, freeBytes: number): void {
    const attempt = this.#byBucket.get(uuid);
    if (attempt) Object.assign(attempt, { isRunning: true, freeBytes });
  }

  /** Called while no compaction runs; returns how long the bucket must wait if one has just ended and another is due. */
  ended(uuid: string, { isDue, freeBytes }: { isDue: boolean; freeBytes: number }): number {
    const attempt = this.#byBucket.get(uuid);
    if (!attempt?.isRunning) return 0;
    attempt.isRunning = false;
    const isUnproductive = isDue && freeBytes > attempt.freeBytes / 2;
    attempt.unproductive = isUnproductive ? attempt.unproductive + 1 : 0;
    if (!isDue) return 0;
    const delayMs = Math.min(pauseMs.first * 2 ** Math.max(0, attempt.unproductive - 1), pauseMs.longest);
    attempt.notBeforeMs = this.#clock.monotonicMs() + delayMs;
    return delayMs;
  }

  /** Removes the entries of all other buckets: those were deleted. */
  removeExcept(live: ReadonlySet<string>): void {
    for (const uuid of this.#byBucket.keys()) if (!live.has(uuid)) this.#byBucket.delete(uuid);
  }
}
