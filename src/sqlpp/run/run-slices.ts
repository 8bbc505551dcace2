// Lets other requests of the thread run after each time slice of a statement.
import type { ExecuteContext } from './engine.ts';
import type { Meter } from './meter.ts';
import { batchRows } from './row.ts';

const sliceMs = 4;

export class RunSlices {
  /** How many documents are read without a pause: few where they are large. */
  documentsAtOnce = 4;
  readonly #context: Pick<ExecuteContext, 'monotonicMs' | 'pause' | 'signal'>;
  readonly #meter: Meter | undefined;
  #startMs: number;

  constructor(context: Pick<ExecuteContext, 'monotonicMs' | 'pause' | 'signal'>, meter: Meter | undefined) {
    this.#context = context;
    this.#meter = meter;
    this.#startMs = context.monotonicMs();
  }

  /** Returns a promise when the slice is over; it resolves in the next one. Throws, or rejects, when the request is aborted. */
  yieldIfDue(): Promise<void> | undefined {
    this.#context.signal.throwIfAborted();
    if (this.#context.monotonicMs() - this.#startMs < sliceMs) return undefined;
    return this.#yield();
  }

  /** As `yieldIfDue`, after so many documents were read at once. */
  yieldAfterDocuments(count: number): Promise<void> | undefined {
    const pause = this.yieldIfDue();
    if (pause !== undefined) this.documentsAtOnce = Math.max(1, count >> 1);
    else if (count === this.documentsAtOnce) this.documentsAtOnce = Math.min(batchRows, 2 * count);
    return pause;
  }

  async #yield(): Promise<void> {
    await (this.#meter?.wait('kernMs', () => this.#context.pause()) ?? this.#context.pause());
    this.#context.signal.throwIfAborted();
    this.#startMs = this.#context.monotonicMs();
  }
}
