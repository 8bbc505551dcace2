// Reads rows until the request is aborted, without waiting for an engine that is blocked.
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

  /** The next batch; null: there is none. Rejects as soon as `abort` is called. */
  next(): Promise<Rows | null> {
    // Not Promise.race: a promise that stays pending would keep a reaction for each batch.
    return new Promise((resolve, reject) => {
      this.reject = reject;
      this.iterator.next().then((step) => {
        this.isOver = step.done === true;
        resolve(step.done ? null : step.value);
      }, reject);
    });
  }

  abort(reason: Error): void {
    this.reject(reason);
  }

  /** Call after the last read. The iterator frees its resources in the background; its result is not needed. */
  end(): void {
    if (!this.isOver) this.iterator.return?.().catch(() => {});
  }
}
