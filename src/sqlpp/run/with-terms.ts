// Evaluates the terms of WITH and WITH RECURSIVE.
import { sqlError } from '../errors/sql-error.ts';
import type { WithPlan } from '../plan/operators.ts';
import type { Value } from '../values/value.ts';
import type { Code } from './code.ts';
import { type InnerQuery, resultsOf } from './combining.ts';
import { HeldMemory } from './held-memory.ts';
import { groupKey } from './keys.ts';
import type { Row } from './row.ts';
import type { Pull, Run } from './run.ts';

/** The estimated memory of the key of a row that WITH RECURSIVE has had, in addition to its text. */
const entryBytes = 32;
/** The estimated memory of a row of WITH RECURSIVE. */
const recursiveRowBytes = 64;

/** Whether WITH RECURSIVE has not had the value before. */
function isNew(memory: HeldMemory, seen: Set<string>, value: Value): boolean {
  const key = groupKey([value]);
  if (seen.has(key)) return false;
  seen.add(key);
  memory.hold(key.length + entryBytes);
  return true;
}

export interface WithCode {
  readonly term: WithPlan;
  readonly code: Code;
  readonly step: InnerQuery | undefined;
}

/** The most steps of WITH RECURSIVE, each of which adds a level of rows. */
const levelsMax = 10_000;

export function withTerms(input: Pull, terms: readonly WithCode[]): Pull {
  return async function* pullWith(run, seed) {
    const row = seed.slice();
    // For the values of the terms, until the query ends.
    const memory = new HeldMemory(run);
    try {
      for (const { term, code, step } of terms) {
        row[term.slot] = await run.value(() => code.run(row, run.evaluation));
        if (step) row[term.slot] = await recurse(run, memory, row, { term, step });
      }
      yield* input(run, row);
    } finally {
      memory.release();
    }
  };
}

/** Runs the step over the rows of the previous one until there are none. */
async function recurse(
  run: Run,
  memory: HeldMemory,
  row: Row,
  { term, step }: { readonly term: WithPlan; readonly step: InnerQuery },
): Promise<Value> {
  const isAll = term.recursive?.isAll ?? false;
  const seen = new Set<string>();
  const start = run.resolve(row[term.slot]);
  let level = Array.isArray(start) ? (start as Value[]) : [];
  if (!isAll) level = level.filter((value) => isNew(memory, seen, value));
  const all = [...level];
  for (let count = 0; level.length > 0; count++) {
    if (count >= levelsMax)
      throw sqlError(5030, `WITH RECURSIVE ${term.alias} did not end after ${levelsMax} levels`);
    const stepRow = row.slice();
    stepRow[term.slot] = level;
    const next: Value[] = [];
    for await (const values of resultsOf(run, step, stepRow)) {
      for (const value of values) {
        if (!isAll && !isNew(memory, seen, value)) continue;
        memory.hold(recursiveRowBytes);
        next.push(value);
      }
      await run.yieldIfDue();
    }
    for (const value of next) all.push(value);
    level = next;
  }
  return all;
}
