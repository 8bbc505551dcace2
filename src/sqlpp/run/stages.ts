// Operators that turn each batch of rows into another one. Consecutive ones run in one loop: with a generator for each operator, a small batch
// would spend more time in the generators than in most operators.
import type { Batch } from './row.ts';
import type { Pull, Run } from './run.ts';

/** May change the rows that it gets, and return some of them or none. */
export type Stage = (run: Run, rows: Batch) => Batch | Promise<Batch>;

interface Chain {
  readonly source: Pull;
  readonly stages: readonly Stage[];
}

/** The source and the stages of each pull that `staged` has made. */
const chains = new WeakMap<Pull, Chain>();

/** The rows of the input after the stage. */
export function staged(input: Pull, stage: Stage): Pull {
  const chain = chains.get(input) ?? { source: input, stages: [] };
  const { source } = chain;
  const stages = [...chain.stages, stage];
  // A meter measures each operator by itself.
  const pull: Pull = (run, seed) =>
    run.meter === undefined
      ? throughStages(run, source(run, seed), stages)
      : throughStages(run, input(run, seed), [stage]);
  chains.set(pull, { source, stages });
  return pull;
}

/** Measures the operator if the request has a profile. */
export function measured(operator: object, pull: Pull): Pull {
  const measuredPull: Pull = (run, seed) => run.meter?.rows(operator, pull(run, seed)) ?? pull(run, seed);
  const chain = chains.get(pull);
  if (chain !== undefined) chains.set(measuredPull, chain);
  return measuredPull;
}

async function* throughStages(
  run: Run,
  batches: AsyncIterable<Batch>,
  stages: readonly Stage[],
): AsyncGenerator<Batch> {
  for await (const rows of batches) {
    let batch = rows;
    for (const stage of stages) {
      const next = stage(run, batch);
      batch = next instanceof Promise ? await next : next;
      const pause = run.yieldIfDue();
      if (pause !== undefined) await pause;
      if (batch.length === 0) break;
    }
    if (batch.length > 0) yield batch;
  }
}

/** Calls `work` for each row, which it may change, and returns the rows. */
export function afterEach(run: Run, rows: Batch, work: (row: Batch[number]) => void): Batch | Promise<Batch> {
  const waiting = run.each(rows, work);
  return waiting === undefined ? rows : waiting.then(() => rows);
}
