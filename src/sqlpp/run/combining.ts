// Queries inside a query: subqueries of FROM and set operations.
import type { Block, Source } from '../plan/block.ts';
import type { SetOperator } from '../plan/operators.ts';
import type { Value, ValueObject } from '../values/value.ts';
import type { Code } from './code.ts';
import { DistinctRows } from './distinct-rows.ts';
import { groupKey } from './keys.ts';
import { firstRow, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';
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

/** The results of an inner query that starts with the row. */
export async function* resultsOf(run: Run, inner: InnerQuery, row: Row): AsyncGenerator<Value[]> {
  for await (const rows of rowsOfInner(run, inner, row)) yield rows.map((each) => each[inner.resultSlot]);
}

/** `origin`: the keyspace inside the subquery whose META() the rows keep. */
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

/** The member of a result that ORDER BY of a set operation reads; of a RAW result the result itself. */
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
  const distinct = new DistinctRows(run, groupKey);
  try {
    for await (const values of all)
      yield (await distinct.fresh(values.map((value) => [value]))).map(([value]) => value);
    for await (const rows of distinct.rest()) yield rows.map(([value]) => value);
  } finally {
    await distinct.close();
  }
}
