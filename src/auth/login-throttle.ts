// Slows password guessing: each failure of a source with a user name delays the answer to the next failure. Right credentials never
// wait: the delay follows a failed verification. A success does not reset the delay: an attacker may share its address with
// a user who knows the password.
import { sourceOf } from '#base/address.ts';
import type { Clock } from '#ports/clock.ts';

const firstDelayMs = 100;
const longestDelayMs = 2_000;
/** Below the five seconds after which published clients report a timeout instead of a wrong password. */
const waitMaxMs = 3_000;
const discardAfterMs = 15 * 60_000;
/** The maximum of sources and of pairs of a source and a user whose failures are counted. */
const countedMax = 10_000;
/** The number of recent failures from which a source is suspect. */
const suspectAfter = 5;
/** How many answers may be delayed at the same time; further ones are sent without a delay, because delayed ones cost memory and connections. */
const waitingMax = 1_000;

interface Failures {
  count: number;
  /** When the last delayed answer is sent: answers to one source are sent one after another. */
  freeAtMs: number;
  lastMs: number;
}

export class LoginThrottle {
  readonly #clock: Clock;
  readonly #failures = new Map<string, Failures>();
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True for a source with so many recent failures that its verifications run at low priority. */
  isSuspect(address: string): boolean {
    const failures = this.#failures.get(sourceOf(address));
    return failures !== undefined && failures.count >= suspectAfter && this.#isFresh(failures);
  }

  /** Resolves when the failure may be answered. */
  async failed(address: string, name: string): Promise<void> {
    const source = sourceOf(address);
    this.#recordFailure(source);
    const delayMs = this.#recordFailure(keyOf(source, name));
    if (this.#waiting >= waitingMax) return;
    this.#waiting++;
    try {
      await this.#clock.sleep(delayMs);
    } finally {
      this.#waiting--;
    }
  }

  #recordFailure(key: string): number {
    const nowMs = this.#clock.monotonicMs();
    const earlier = this.#failures.get(key);
    const failures =
      earlier && nowMs - earlier.lastMs < discardAfterMs
        ? earlier
        : { count: 0, freeAtMs: nowMs, lastMs: nowMs };
    const step = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(failures.count, 10));
    const freeAtMs = Math.min(Math.max(nowMs, failures.freeAtMs) + step, nowMs + waitMaxMs);
    // Deleted and set again, so that the map stays in order of the last failure.
    this.#failures.delete(key);
    this.#failures.set(key, { count: failures.count + 1, freeAtMs, lastMs: nowMs });
    if (this.#failures.size > countedMax) this.#failures.delete(this.#failures.keys().next().value as string);
    return freeAtMs - nowMs;
  }

  #isFresh(failures: Failures): boolean {
    return this.#clock.monotonicMs() - failures.lastMs < discardAfterMs;
  }
}

const keyOf = (source: string, name: string) => `${source} ${name.slice(0, 128)}`;
