import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Batch } from './row.ts';
import type { Run } from './run.ts';
import { type Stage, staged } from './stages.ts';
import { ended, nextStepOf, type Step, StepIterator } from './step-iterator.ts';

/** Batches that are there at once, or after a turn; counts how often it was ended. */
class Source extends StepIterator<Batch> {
  ends = 0;
  private readonly batches: Batch[];
  private readonly waits: boolean;

  constructor(batches: Batch[], waits: boolean) {
    super();
    this.batches = batches;
    this.waits = waits;
  }

  step(): Step<Batch> | Promise<Step<Batch>> {
    const batch = this.batches.shift();
    const step: Step<Batch> = batch === undefined ? ended : { done: false, value: batch };
    return this.waits ? Promise.resolve(step) : step;
  }

  return(): Promise<Step<Batch>> {
    this.ends++;
    this.batches.length = 0;
    return Promise.resolve(ended);
  }
}

const rows = (...numbers: number[]): Batch => numbers.map((number) => [number]);
const odd: Stage = (_run, batch) => batch.filter(([number]) => Number(number) % 2 === 1);
const later =
  (stage: Stage): Stage =>
  async (run, batch) =>
    await stage(run, batch);
const failing: Stage = () => {
  throw new Error('a stage failed');
};

function through(source: Source, stages: readonly Stage[], pauses = false): AsyncIterator<Batch> {
  let count = 0;
  const yieldIfDue = () => (pauses && ++count % 2 === 0 ? Promise.resolve() : undefined);
  const pull = stages.reduce(staged, () => source);
  return pull({ meter: undefined, yieldIfDue } as unknown as Run, [])[Symbol.asyncIterator]();
}

test('stages give the same rows whether the source, a stage or a pause waits or not', async (t) => {
  t.plan(8);
  for (const sourceWaits of [false, true])
    for (const second of [odd, later(odd)])
      for (const pauses of [false, true]) {
        const source = new Source([rows(1, 2), rows(4), rows(6), rows(3, 5)], sourceWaits);
        const found: Batch[] = [];
        for await (const batch of { [Symbol.asyncIterator]: () => through(source, [odd, second], pauses) })
          found.push(batch);
        t.assert.deepEqual(found, [rows(1), rows(3, 5)]);
      }
});

test('rows that are available at once are returned without a promise', () => {
  const iterator = through(new Source([rows(2), rows(1)], false), [odd]);
  assert.deepEqual(nextStepOf(iterator), { done: false, value: rows(1) });
  assert.deepEqual(nextStepOf(iterator), ended);
});

test('a failed stage ends its source and the rows', async (t) => {
  t.plan(12);
  for (const waits of [false, true])
    for (const stages of [[failing], [later(failing)], [later(odd), failing]]) {
      const source = new Source([rows(1), rows(3)], waits);
      const iterator = through(source, stages);
      await t.assert.rejects(iterator.next(), /a stage failed/);
      t.assert.deepEqual([source.ends, await iterator.next()], [1, ended]);
    }
});

test('ending the rows ends the source', async () => {
  const source = new Source([rows(1), rows(3)], false);
  const iterator = through(source, [odd]);
  await iterator.next();
  await iterator.return?.();
  assert.deepEqual([source.ends, await iterator.next()], [1, ended]);
});
