// Lets other requests of the thread run after each time slice of a statement.
import type { WorkSteps } from '#base/steps.ts';
import { renewSteps } from '../values/step-limit.ts';
import type { ExecuteContext } from './engine.ts';
import type { Meter } from './meter.ts';
import { batchRows } from './row.ts';

const sliceMs = 4;
/** Documents that are read at once are large if they have this many bytes together. */
const largeBytes = 4 << 20;

export class RunSlices {
  /** How many documents are read without a pause: few where they are large. */
  documentsAtOnce = 4;
  readonly #context: Pick<ExecuteContext, 'monotonicMs' | 'pause' | 'signal'>;
  readonly #meter: Meter | undefined;
  /** When the slice began. */
  #startMs: number;
  /** When the statement began to take the documents that were read last. */
  #takingStartMs = 0;
  /** The size of the documents that were read last. */
  #takenBytes = 0;
  /** When the evaluation of the row began; 0 for the first one. */
  #evaluationStartMs = 0;
  /** When the newest work of the row went on after a pause, or the row was evaluated again. */
  #resumedMs = 0;

  constructor(context: Pick<ExecuteContext, 'monotonicMs' | 'pause' | 'signal'>, meter: Meter | undefined) {
    this.#context = context;
    this.#meter = meter;
    this.#startMs = context.monotonicMs();
    renewSteps();
  }

  /** Returns a promise when the slice is over; it resolves in the next one. Throws, or rejects, when the request is aborted. */
  yieldIfDue(): Promise<void> | undefined {
    this.#context.signal.throwIfAborted();
    return this.isDue ? this.#yield() : undefined;
  }

  /** Whether the slice is over. */
  get isDue(): boolean {
    return this.#context.monotonicMs() - this.#startMs >= sliceMs;
  }

  /** Call before a row is evaluated again. */
  evaluatesAgain(): void {
    this.#evaluationStartMs = this.#resumedMs = this.#context.monotonicMs();
  }

  /** Call when a row is done: what was evaluated again for it must not postpone the pauses of the next row. */
  rowEnded(): void {
    this.#evaluationStartMs = this.#resumedMs = 0;
  }

  /** Call when work of a row goes on after a pause. */
  resumed(): void {
    this.#resumedMs = this.#context.monotonicMs();
  }

  /** Whether work of a row should pause: when it has taken as long as what will be evaluated again before it, so that a row takes twice the time at most. */
  get isPauseDue(): boolean {
    const nowMs = this.#context.monotonicMs();
    if (nowMs - this.#startMs < sliceMs) return false;
    return nowMs - this.#resumedMs >= this.#resumedMs - this.#evaluationStartMs;
  }

  /** Calls `work` for each item, and yields between those that take long. */
  each<T>(items: readonly T[], work: (item: T) => void): Promise<void> | undefined {
    // The clock is read after 1, 3, 7, 15, … items, as in `Run.each`.
    let timedAt = 1;
    for (let at = 0; at < items.length; at++) {
      if (at === timedAt) {
        timedAt = 2 * timedAt + 1;
        const pause = this.yieldIfDue();
        if (pause !== undefined) return pause.then(() => this.each(items.slice(at), work));
      }
      work(items[at] as T);
    }
    return undefined;
  }

  /** Runs all steps with pauses. */
  async resultOf<T>(steps: WorkSteps<T>): Promise<T> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      const pause = this.yieldIfDue();
      if (pause !== undefined) await pause;
    }
  }

  /** Call when documents have arrived, or before this thread reads them: how long another node takes to send them says nothing about their size. */
  startTakingDocuments(): void {
    this.#takingStartMs = this.#context.monotonicMs();
  }

  countDocument(bytes: number): void {
    this.#takenBytes += bytes;
  }

  /** As `yieldIfDue`, after `count` documents were taken; adapts `documentsAtOnce`. */
  yieldAfterDocuments(count: number): Promise<void> | undefined {
    const tookLong =
      this.#takenBytes >= largeBytes || this.#context.monotonicMs() - this.#takingStartMs >= sliceMs;
    this.#takenBytes = 0;
    if (tookLong) this.documentsAtOnce = Math.max(1, count >> 1);
    else if (count === this.documentsAtOnce) this.documentsAtOnce = Math.min(batchRows, 2 * count);
    return this.yieldIfDue();
  }

  async #yield(): Promise<void> {
    // Renewed before the pause, too: another statement whose wait ends during it continues to count, without a pause of its own.
    renewSteps();
    await (this.#meter?.wait('kernMs', () => this.#context.pause()) ?? this.#context.pause());
    this.#context.signal.throwIfAborted();
    renewSteps();
    this.#startMs = this.#context.monotonicMs();
  }
}
