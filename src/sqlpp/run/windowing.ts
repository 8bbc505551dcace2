// Window functions: divides rows into sorted partitions, and computes the functions over each.
import { expressionKey } from '../plan/expression-key.ts';
import type { WindowColumn } from '../plan/logical.ts';
import type { Value } from '../values/value.ts';
import { sortedInChunks } from './chunked-sort.ts';
import type { BlockCompiler, Code } from './code.ts';
import { HeldMemory } from './held-memory.ts';
import { valueKey } from './keys.ts';
import { deepestLevel, PartitionedRows, partitions } from './partitioned-rows.ts';
import { type Batch, batchRows, type Row } from './row.ts';
import { eachInChunks } from './rows-in-chunks.ts';
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
  /** The key of the expressions of PARTITION BY. */
  readonly partitionKey: string;
  /** Window functions with the same partitions and order share the sort. */
  readonly sortKey: string;
}

export function window(compiler: BlockCompiler, input: Pull, columns: readonly WindowColumn[]): Pull {
  const codes = columns.map((column) => compileColumn(compiler, column));
  const stages = columnsByStage(codes);
  return (run, seed) =>
    stages.reduce<AsyncIterable<Batch>>(
      (rows, columns) => windowed({ run, seed, columns }, rows, 0),
      input(run, seed),
    );
}

/** Groups the columns by their partitions; the group of the last column is last, because it gives the rows their order. */
function columnsByStage(codes: readonly ColumnCode[]): ColumnCode[][] {
  const last = codes.at(-1)?.partitionKey;
  const stages = Map.groupBy(codes, (code) => code.partitionKey);
  const keys = [...stages.keys()].sort((a, b) => Number(a === last) - Number(b === last));
  return keys.map((key) => stages.get(key) as ColumnCode[]);
}

/** The columns with the same partitions, and the run that computes them. */
interface Stage {
  readonly run: Run;
  readonly seed: Row;
  readonly columns: readonly ColumnCode[];
}

/** The estimated memory of a row's sort values. */
const sortKeysBytes = 16;

/** Above the request's share of memory the rows are divided by their partitions, in files. One partition alone stays in memory, up to the quota. */
async function* windowed(context: Stage, input: AsyncIterable<Batch>, level: number): AsyncGenerator<Batch> {
  const { run, columns } = context;
  const first = columns[0] as ColumnCode;
  const canDivide = first.partition.length > 0 && level < deepestLevel;
  let rows: Row[] = [];
  let heldBytes = 0;
  let divided: PartitionedRows | undefined;
  const divide = async (batch: readonly Row[]): Promise<void> => {
    await run.each(batch, (row) => divided?.add(partitionKeyOf(run, first, row), row));
    await divided?.flush();
  };
  try {
    for await (const batch of input) {
      if (divided) await divide(batch);
      else {
        const bytes = batch.reduce((sum, row) => sum + sizeOfRow(row) + sortKeysBytes, 0);
        for (const row of batch) rows.push(row);
        run.hold(bytes);
        heldBytes += bytes;
      }
      if (!divided && canDivide && heldBytes > run.context.spillBytes) {
        divided = new PartitionedRows(run, level);
        for (let at = 0; at < rows.length; at += batchRows) await divide(rows.slice(at, at + batchRows));
        rows = [];
        run.release(heldBytes);
        heldBytes = 0;
      }
      await run.yieldIfDue();
    }
    if (!divided) yield* computed(context, rows);
    for (let part = 0; divided && part < partitions; part++)
      yield* windowed(context, divided.rows(part) as AsyncIterable<Batch>, level + 1);
  } finally {
    run.release(heldBytes);
    await divided?.close();
  }
}

/** Computes the columns of a stage; `rows` contains whole partitions. */
async function* computed({ run, seed, columns }: Stage, rows: readonly Row[]): AsyncGenerator<Batch> {
  const sorted = new Map<string, Partition[]>();
  const memory = new HeldMemory(run);
  try {
    for (const column of columns) {
      const cached = sorted.get(column.sortKey);
      const parts = cached ?? (await partitionsOf(run, seed, rows, column));
      sorted.set(column.sortKey, parts);
      for (const part of parts) await column.evaluate(run, part, column.slot, memory);
    }
    const last = columns.at(-1) as ColumnCode;
    const ordered = (sorted.get(last.sortKey) ?? []).flatMap((part) => part.rows);
    for (let at = 0; at < ordered.length; at += batchRows) {
      yield ordered.slice(at, at + batchRows) as Row[];
      await run.yieldIfDue();
    }
  } finally {
    memory.release();
  }
}

function partitionKeyOf(run: Run, { partition }: ColumnCode, row: Row): string {
  return valueKey(partition.map((code) => code.run(row, run.evaluation)));
}

function compileColumn(compiler: BlockCompiler, { node, slot }: WindowColumn): ColumnCode {
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
    partition: compiler.codes(over.partitionBy),
    order: compiler.codes(terms.map((term) => term.expression)),
    rules: compileRules(compiler, terms),
    evaluate: compileWindowFunction(compiler, node),
    partitionKey: partition,
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
    const key = partitionKeyOf(run, column, row);
    const keys = column.order.map((code) => run.resolveDeep(code.run(row, run.evaluation)));
    const found = byKey.get(key);
    if (found) found.push({ keys, row });
    else byKey.set(key, [{ keys, row }]);
  });
  const parts: Partition[] = [];
  for (const unsorted of byKey.values()) {
    const isOrdered = column.order.length > 0;
    const members = isOrdered
      ? await sortedInChunks(run, unsorted, (a, b) => compare(a.keys, b.keys))
      : unsorted;
    parts.push({
      rows: members.map(({ row }) => row),
      keys: members.map(({ keys }) => keys),
      compare,
      peers: await peersOf(run, members, isOrdered ? compare : undefined),
    });
    await run.yieldIfDue();
  }
  return parts;
}

/** The peer group number of each row. Without an order all rows are peers. */
async function peersOf(
  run: Run,
  members: readonly { keys: Value[] }[],
  compare: CompareKeys | undefined,
): Promise<number[]> {
  const peers: number[] = [];
  let group = 0;
  await eachInChunks(run, members, ({ keys }, at) => {
    const before = members[at - 1];
    if (before && compare && compare(before.keys, keys) !== 0) group++;
    peers.push(group);
  });
  return peers;
}
