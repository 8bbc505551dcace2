// Set operations and WITH.
import { sqlError } from '../errors/sql-error.ts';
import type { Block, Source } from '../plan/block.ts';
import type { SetOperator, WithPlan } from '../plan/operators.ts';
import type { Value, ValueObject } from '../values/value.ts';
import type { Code } from './code.ts';
import { DistinctRows } from './distinct-rows.ts';
import { valueKey } from './keys.ts';
import type { Row } from './row.ts';
import { firstRow, type Pull, type Run } from './run.ts';
import { matchingValues } from './set-matching.ts';

/** A query in its own block, which starts with a row of the outer block. */
export interface InnerQuery {
  /** The expressions of the outer block that the query captures. */
  readonly captures: readonly Code[];
  readonly block: Block;
  readonly pull: Pull;
  readonly resultSlot: number;
}

async function* rowsOfInner(run: Run, inner: InnerQuery, row: Row): AsyncGenerator<Row[]> {
  const values: Value[] = [];
  for (const capture of inner.captures) values.push(await run.value(() => capture.run(row, run.evaluation)));
  yield* inner.pull(run, firstRow(inner.block, values));
}

export async function* resultsOf(run: Run, inner: InnerQuery, row: Row): AsyncGenerator<Value[]> {
  for await (const rows of rowsOfInner(run, inner, row)) yield rows.map((each) => each[inner.resultSlot]);
}

export function subqueryScan(inner: InnerQuery, source: Source, origin: Source | undefined): Pull {
  return async function* pullSubquery(run, seed) {
    for await (const rows of rowsOfInner(run, inner, seed)) {
      yield rows.map((result) => {
        const row = seed.slice();
        row[source.slot] = result[inner.resultSlot];
        if (origin) {
          row[source.idSlot as number] = result[origin.idSlot as number];
          row[source.metaSlot as number] = result[origin.metaSlot as number];
        }
        return row;
      });
      await run.yieldIfDue();
    }
  };
}

export function setOperation(node: SetOperator, left: InnerQuery, right: InnerQuery | undefined): Pull {
  const toRows = (run: Run, seed: Row, values: readonly Value[]): Row[] =>
    values.map((value) => {
      const row = seed.slice();
      row[node.resultSlot] = value;
      for (const [name, slot] of node.fields) row[slot] = memberOf(run, value, name);
      return row;
    });
  return async function* pullSet(run, seed) {
    for await (const values of combine(run, node, left, right, seed)) {
      if (values.length > 0) yield toRows(run, seed, values);
      await run.yieldIfDue();
    }
  };
}

function memberOf(run: Run, value: Value, name: string): Value {
  const object = run.resolve(value);
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return object;
  return (object as ValueObject)[name];
}

function combine(
  run: Run,
  { operator, isAll }: SetOperator,
  left: InnerQuery,
  right: InnerQuery | undefined,
  seed: Row,
): AsyncGenerator<Value[]> {
  const [lefts, rights] = [resultsOf(run, left, seed), right && resultsOf(run, right, seed)];
  if (!rights) return lefts;
  const rule = { isIntersect: operator === 'intersect', isAll };
  const values = operator === 'union' ? chained(lefts, rights) : matchingValues(run, rule, lefts, rights);
  return isAll ? values : distinctValues(run, values);
}

async function* chained(...all: readonly AsyncIterable<Value[]>[]): AsyncGenerator<Value[]> {
  for (const values of all) yield* values;
}

async function* distinctValues(run: Run, all: AsyncIterable<Value[]>): AsyncGenerator<Value[]> {
  const distinct = new DistinctRows(run, valueKey);
  try {
    for await (const values of all)
      yield (await distinct.fresh(values.map((value) => [value]))).map(([value]) => value);
    for await (const rows of distinct.rest()) yield rows.map(([value]) => value);
  } finally {
    await distinct.close();
  }
}

/** The estimated memory of a known key beside its text. */
const entryBytes = 32;
/** The estimated memory of a row of WITH RECURSIVE. */
const recursiveRowBytes = 64;

function isNew(run: Run, seen: Set<string>, value: Value): boolean {
  const key = valueKey([value]);
  if (seen.has(key)) return false;
  seen.add(key);
  run.hold(key.length + entryBytes);
  return true;
}

export interface WithCode {
  readonly term: WithPlan;
  readonly code: Code;
  readonly step: InnerQuery | undefined;
}

const levelsMax = 10_000;

export function withTerms(input: Pull, terms: readonly WithCode[]): Pull {
  return async function* pullWith(run, seed) {
    const row = seed.slice();
    for (const { term, code, step } of terms) {
      row[term.slot] = await run.value(() => code.run(row, run.evaluation));
      if (step) row[term.slot] = await recurse(run, row, term, step);
    }
    yield* input(run, row);
  };
}

/** Runs the step over the rows of the previous one until there are none. */
async function recurse(run: Run, row: Row, term: WithPlan, step: InnerQuery): Promise<Value> {
  const isAll = term.recursive?.isAll ?? false;
  const seen = new Set<string>();
  const start = run.resolve(row[term.slot]);
  let level = Array.isArray(start) ? (start as Value[]) : [];
  if (!isAll) level = level.filter((value) => isNew(run, seen, value));
  const all = [...level];
  for (let count = 0; level.length > 0; count++) {
    if (count >= levelsMax)
      throw sqlError(5030, `WITH RECURSIVE ${term.alias} did not end after ${levelsMax} levels`);
    const working = row.slice();
    working[term.slot] = level;
    const next: Value[] = [];
    for await (const values of resultsOf(run, step, working)) {
      for (const value of values) {
        if (!isAll && !isNew(run, seen, value)) continue;
        run.hold(recursiveRowBytes);
        next.push(value);
      }
      await run.yieldIfDue();
    }
    all.push(...next);
    level = next;
  }
  return all;
}
