// Window functions: partitions and sorts rows, and computes the frame of each row.

import { expressionKey } from '../plan/expression-key.ts';
import type { WindowColumn } from '../plan/logical.ts';
import type { Value } from '../values/value.ts';
import type { Code, CodeBook } from './code.ts';
import { valueKey } from './keys.ts';
import { batchRows, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';
import { sizeOfRow } from './size.ts';
import { type CompareKeys, compileRules } from './sorting.ts';
import { compileWindowFunction, type Partition, type WindowFunction } from './window-functions.ts';

interface ColumnCode {
  readonly slot: number;
  readonly partition: readonly Code[];
  readonly order: readonly Code[];
  readonly rules: (run: Run, seed: Row) => Promise<CompareKeys>;
  readonly evaluate: WindowFunction;
  /** Window functions with the same partitions and order share the sort. */
  readonly sortKey: string;
}

export function window(book: CodeBook, input: Pull, columns: readonly WindowColumn[]): Pull {
  const codes = columns.map((column) => compileColumn(book, column));
  return async function* pullWindows(run, seed) {
    const rows: Row[] = [];
    let held = 0;
    try {
      for await (const batch of input(run, seed)) {
        let bytes = 0;
        for (const row of batch) {
          rows.push(row);
          bytes += sizeOfRow(row) + 16;
        }
        run.hold(bytes);
        held += bytes;
        await run.breathe();
      }
      const sorted = new Map<string, Partition[]>();
      for (const column of codes) {
        const known = sorted.get(column.sortKey);
        const partitions = known ?? (await partitionsOf(run, seed, rows, column));
        sorted.set(column.sortKey, partitions);
        for (const partition of partitions) await column.evaluate(run, partition, column.slot);
      }
      const last = codes.at(-1) as ColumnCode;
      const ordered = (sorted.get(last.sortKey) ?? []).flatMap((partition) => partition.rows);
      for (let at = 0; at < ordered.length; at += batchRows) {
        yield ordered.slice(at, at + batchRows) as Row[];
        await run.breathe();
      }
    } finally {
      run.release(held);
    }
  };
}

function compileColumn(book: CodeBook, { node, slot }: WindowColumn): ColumnCode {
  const { over } = node;
  const terms = over.orderBy.map(({ expression, direction, nulls }) => ({
    expression,
    isDescending: typeof direction === 'object' ? direction : direction === 'desc',
    nulls,
  }));
  const partition = over.partitionBy.map(expressionKey).join(',');
  const order = over.orderBy.map(
    (term) => `${expressionKey(term.expression)} ${JSON.stringify([term.direction, term.nulls])}`,
  );
  return {
    slot,
    partition: book.codes(over.partitionBy),
    order: book.codes(terms.map((term) => term.expression)),
    rules: compileRules(book, terms),
    evaluate: compileWindowFunction(book, node),
    sortKey: `${partition}|${order.join(',')}`,
  };
}

async function partitionsOf(
  run: Run,
  seed: Row,
  rows: readonly Row[],
  column: ColumnCode,
): Promise<Partition[]> {
  const compare = await column.rules(run, seed);
  const byKey = new Map<string, { keys: Value[]; row: Row }[]>();
  await run.each(rows, (row) => {
    const key = valueKey(column.partition.map((code) => code.run(row, run.evaluation)));
    const keys = column.order.map((code) => run.resolveDeep(code.run(row, run.evaluation)));
    const found = byKey.get(key);
    if (found) found.push({ keys, row });
    else byKey.set(key, [{ keys, row }]);
  });
  const partitions: Partition[] = [];
  for (const members of byKey.values()) {
    if (column.order.length > 0) members.sort((a, b) => compare(a.keys, b.keys));
    partitions.push({
      rows: members.map(({ row }) => row),
      keys: members.map(({ keys }) => keys),
      compare,
      peers: peersOf(members, compare, column.order.length > 0),
    });
    await run.breathe();
  }
  return partitions;
}

/** The peer group number of each row. Without an order all rows are peers. */
function peersOf(members: readonly { keys: Value[] }[], compare: CompareKeys, isOrdered: boolean): number[] {
  let group = 0;
  return members.map(({ keys }, at) => {
    const before = members[at - 1];
    if (before && isOrdered && compare(before.keys, keys) !== 0) group++;
    return group;
  });
}
