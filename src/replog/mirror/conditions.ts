// Waits until a condition on a mirror is true; checks it after each change of the mirror.
import type { Clock } from '#ports/clock.ts';

export class Conditions {
  readonly #clock: Clock;
  /** Aborted when the mirror stops: no condition becomes true any more. */
  readonly #stopping: AbortSignal;
  readonly #checks = new Set<() => void>();

  constructor(clock: Clock, stopping: AbortSignal) {
    this.#clock = clock;
    this.#stopping = stopping;
  }

  /** Call after each change. */
  changed(): void {
    for (const check of [...this.#checks]) check();
  }

  /** Resolves once the condition is true, or at `untilMs`, with whether it is true. */
  async until(isTrue: () => boolean, untilMs: number): Promise<boolean> {
    if (isTrue()) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => {
      if (isTrue() || this.#stopping.aborted) resolve();
    };
    this.#checks.add(check);
    const timer = this.#clock.after(Math.max(0, untilMs - this.#clock.monotonicMs()), resolve);
    await promise;
    this.#checks.delete(check);
    timer.cancel();
    return isTrue();
  }
}
