// Reads rows until the request is aborted, without waiting for an engine that is blocked.
import { nextStepOf } from '#sqlpp/run/step-iterator.ts';
import type { Value } from '#sqlpp/values/value.ts';

type Rows = readonly Value[];

export class AbortableRows {
  private readonly iterator: AsyncIterator<Rows>;
  private isOver = false;
  /** Rejects the read in progress. */
  private reject: (reason: Error) => void = () => {};

  constructor(rows: AsyncIterable<Rows>) {
    this.iterator = rows[Symbol.asyncIterator]();
  }

  /** The next batch, without a promise if the iterator has it already; null: there is none. A promise rejects as soon as `abort` is called. */
  next(): Rows | null | Promise<Rows | null> {
    const next = nextStepOf(this.iterator);
    if (!(next instanceof Promise)) return this.rowsOf(next);
    // Not Promise.race: a promise that stays pending would keep a reaction for each batch.
    return new Promise((resolve, reject) => {
      this.reject = reject;
      next.then((step) => resolve(this.rowsOf(step)), reject);
    });
  }

  private rowsOf(step: IteratorResult<Rows>): Rows | null {
    this.isOver = step.done === true;
    return step.done ? null : step.value;
  }

  abort(reason: Error): void {
    this.reject(reason);
  }

  /** Call after the last read. The iterator frees its resources in the background; its result is not needed. */
  end(): void {
    if (!this.isOver) this.iterator.return?.().catch(() => {});
  }
}
