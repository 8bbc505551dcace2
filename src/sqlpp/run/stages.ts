// Operators that turn each batch of rows into another one. Consecutive ones run in one loop: with a generator for each operator, a small batch
// would spend more time in the generators than in most operators.
import type { Batch } from './row.ts';
import type { Pull, Run } from './run.ts';
import { ended, nextStepOf, type Step, StepIterator } from './step-iterator.ts';

/** May change the rows that it gets, and return some of them or none. */
export type Stage = (run: Run, rows: Batch) => Batch | Promise<Batch>;

interface Chain {
  readonly source: Pull;
  readonly stages: readonly Stage[];
}

/** Has its chain as a property: a WeakMap would keep the plans of single statements until V8 collects all garbage. */
type StagedPull = Pull & { chain?: Chain };

/** The rows of the input after the stage. */
export function staged(input: StagedPull, stage: Stage): Pull {
  const { source, stages: before } = input.chain ?? { source: input, stages: [] };
  const stages = [...before, stage];
  // A meter measures each operator by itself.
  const pull: StagedPull = (run, seed) =>
    run.meter === undefined
      ? new StagedRows(run, source(run, seed), stages)
      : new StagedRows(run, input(run, seed), [stage]);
  pull.chain = { source, stages };
  return pull;
}

/** Measures the operator if the request has a profile. */
export function measured(operator: object, pull: StagedPull): Pull {
  const measuredPull: StagedPull = (run, seed) =>
    run.meter?.rows(operator, pull(run, seed)) ?? pull(run, seed);
  if (pull.chain !== undefined) measuredPull.chain = pull.chain;
  return measuredPull;
}

/** The rows of a source after some stages, without promises until the source or a stage waits for something. A source that fails has ended by itself. */
class StagedRows extends StepIterator<Batch> {
  readonly #run: Run;
  readonly #source: AsyncIterator<Batch>;
  readonly #stages: readonly Stage[];
  #isOver = false;

  constructor(run: Run, source: AsyncIterable<Batch>, stages: readonly Stage[]) {
    super();
    this.#run = run;
    this.#source = source[Symbol.asyncIterator]();
    this.#stages = stages;
  }

  step(): Step<Batch> | Promise<Step<Batch>> {
    while (!this.#isOver) {
      const next = nextStepOf(this.#source);
      if (next instanceof Promise) return this.#later(next);
      if (next.done) break;
      let batch: Batch | Promise<Batch>;
      try {
        batch = this.#through(next.value);
      } catch (error) {
        return this.#fail(error);
      }
      if (batch instanceof Promise) return this.#afterStages(batch);
      if (batch.length > 0) return { done: false, value: batch };
    }
    return this.#end();
  }

  async return(): Promise<Step<Batch>> {
    this.#isOver = true;
    await this.#source.return?.();
    return ended;
  }

  #end(): Step<Batch> {
    this.#isOver = true;
    return ended;
  }

  /** Ends the source after an error of a stage. */
  async #fail(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  async #later(pending: IteratorResult<Batch> | Promise<IteratorResult<Batch>>): Promise<Step<Batch>> {
    let next = await pending;
    while (!next.done) {
      const batch = await this.#throughOrEnd(next.value);
      if (batch.length > 0) return { done: false, value: batch };
      next = await nextStepOf(this.#source);
    }
    return this.#end();
  }

  async #throughOrEnd(rows: Batch): Promise<Batch> {
    try {
      return await this.#through(rows);
    } catch (error) {
      return this.#fail(error);
    }
  }

  async #afterStages(pending: Promise<Batch>): Promise<Step<Batch>> {
    let batch: Batch;
    try {
      batch = await pending;
    } catch (error) {
      return this.#fail(error);
    }
    return batch.length > 0 ? { done: false, value: batch } : await this.#later(nextStepOf(this.#source));
  }

  #through(rows: Batch): Batch | Promise<Batch> {
    let batch = rows;
    for (let at = 0; at < this.#stages.length; ) {
      const next = (this.#stages[at++] as Stage)(this.#run, batch);
      if (next instanceof Promise) return this.#throughFrom(at, next);
      batch = next;
      const pause = this.#run.yieldIfDue();
      if (pause !== undefined) return this.#throughFrom(at, batch, pause);
      if (batch.length === 0) break;
    }
    return batch;
  }

  /** Continues once a stage or a pause has ended. */
  async #throughFrom(from: number, pending: Batch | Promise<Batch>, pause?: Promise<void>): Promise<Batch> {
    let at = from;
    let batch = await pending;
    let waiting = pause ?? this.#run.yieldIfDue();
    for (;;) {
      if (waiting !== undefined) await waiting;
      if (batch.length === 0 || at === this.#stages.length) return batch;
      const next = (this.#stages[at++] as Stage)(this.#run, batch);
      batch = next instanceof Promise ? await next : next;
      waiting = this.#run.yieldIfDue();
    }
  }
}

/** Calls `work` for each row, which it may change, and returns the rows. */
export function afterEach(run: Run, rows: Batch, work: (row: Batch[number]) => void): Batch | Promise<Batch> {
  const waiting = run.each(rows, work);
  return waiting === undefined ? rows : waiting.then(() => rows);
}
