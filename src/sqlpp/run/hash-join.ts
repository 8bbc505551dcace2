// Hash joins: a table of the right side's rows by key. Above the request's memory share, right rows with keys that the table does not
// have are written to scratch files with the left rows that may match them, and each partition is joined separately.
import type { HashJoin } from '../plan/operators.ts';
import type { Value } from '../values/value.ts';
import type { BlockCompiler, Code } from './code.ts';
import { type Emit, emitter, matching, merged } from './joining.ts';
import { valueKey } from './keys.ts';
import { deepestLevel, PartitionedRows, partitions } from './partitioned-rows.ts';
import { type Batch, Batcher, batchRows, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';
import { sizeOfCopy, sizeOfRow } from './size.ts';

/** The compiled parts of the join. */
interface Probe {
  readonly leftKeys: readonly Code[];
  readonly rightKeys: readonly Code[];
  readonly condition: Code | undefined;
  readonly emit: Emit;
}

export function hashJoin(compiler: BlockCompiler, input: Pull, right: Pull, join: HashJoin): Pull {
  const probe: Probe = {
    condition: join.condition && compiler.code(join.condition),
    leftKeys: compiler.codes(join.leftKeys),
    rightKeys: compiler.codes(join.rightKeys),
    emit: emitter(join),
  };
  return (run, seed) => joined(run, probe, input(run, seed), right(run, seed), 0);
}

async function* joined(
  run: Run,
  probe: Probe,
  left: AsyncIterable<Batch>,
  right: AsyncIterable<Batch>,
  level: number,
): AsyncGenerator<Batch> {
  const table = new JoinTable(run, level);
  let spilled: PartitionedRows | undefined;
  try {
    for await (const rows of right) await table.add(await keysOf(run, probe.rightKeys, rows), rows);
    if (table.spilled) spilled = new PartitionedRows(run, level);
    for await (const rows of left) {
      const keys = await keysOf(run, probe.leftKeys, rows);
      const found = rows.map((row, at) => {
        const key = keys[at];
        if (!spilled || key === undefined || table.has(key)) return table.rowsOf(key);
        spilled.add(key, row);
        return undefined;
      });
      yield* pairsOf(run, probe, rows, found);
      await spilled?.flush();
      await run.yieldIfDue();
    }
    table.discard();
    for (let part = 0; table.spilled && spilled && part < partitions; part++)
      yield* joined(run, probe, spilled.rows(part), table.spilled.rows(part), level + 1);
  } finally {
    table.discard();
    await table.spilled?.close();
    await spilled?.close();
  }
}

/** Joins left rows with their matches. `found` holds the matches of each row; undefined: the row was spilled. */
async function* pairsOf(
  run: Run,
  probe: Probe,
  rows: Batch,
  found: readonly (readonly Row[] | undefined)[],
): AsyncGenerator<Batch> {
  const batcher = new Batcher();
  for (const [at, left] of rows.entries()) {
    const matches = found[at];
    if (matches === undefined) continue;
    const bytes = matches.length * sizeOfCopy(left);
    run.hold(bytes);
    try {
      const matched: Row[] = [];
      for (let from = 0; from < matches.length; from += batchRows) {
        const pairs = matches.slice(from, from + batchRows).map((row) => merged(left, row));
        for (const row of await matching(run, probe.condition, pairs)) matched.push(row);
        const pause = from + batchRows < matches.length ? run.yieldIfDue() : undefined;
        if (pause !== undefined) await pause;
      }
      for (const row of probe.emit(left, matched)) {
        const full = batcher.add(row);
        if (full) yield full;
      }
    } finally {
      run.release(bytes);
    }
  }
  if (batcher.size > 0) yield batcher.drain();
}

class JoinTable {
  /** The right rows for which the table has no memory; undefined: there are none. */
  spilled: PartitionedRows | undefined;
  readonly #run: Run;
  /** How many times these rows were already divided into scratch files. */
  readonly #level: number;
  readonly #rows = new Map<string, Row[]>();
  #bytes = 0;

  constructor(run: Run, level: number) {
    this.#run = run;
    this.#level = level;
  }

  async add(keys: readonly (string | undefined)[], rows: Batch): Promise<void> {
    const before = this.#bytes;
    for (const [at, row] of rows.entries()) {
      const key = keys[at];
      if (key !== undefined) this.#addOne(key, row);
    }
    this.#run.hold(this.#bytes - before);
    await this.spilled?.flush();
    await this.#run.yieldIfDue();
  }

  has(key: string): boolean {
    return this.#rows.has(key);
  }

  rowsOf(key: string | undefined): readonly Row[] {
    return (key === undefined ? undefined : this.#rows.get(key)) ?? [];
  }

  discard(): void {
    this.#rows.clear();
    this.#run.release(this.#bytes);
    this.#bytes = 0;
  }

  #addOne(key: string, row: Row): void {
    const same = this.#rows.get(key);
    if (!same && this.#bytes > this.#run.context.spillBytes && this.#level < deepestLevel) {
      this.spilled ??= new PartitionedRows(this.#run, this.#level);
      this.spilled.add(key, row);
      return;
    }
    if (same) same.push(row);
    else this.#rows.set(key, [row]);
    this.#bytes += sizeOfRow(row) + (same ? 0 : 2 * key.length);
  }
}

/** The key of each row; undefined for NULL and MISSING, which equal nothing. */
async function keysOf(run: Run, codes: readonly Code[], rows: Batch): Promise<(string | undefined)[]> {
  const keys: (string | undefined)[] = [];
  await run.each(rows, (row, at) => {
    keys[at] = keyOf(run, codes, row);
  });
  return keys;
}

function keyOf(run: Run, codes: readonly Code[], row: Row): string | undefined {
  const values: Value[] = [];
  for (const code of codes) {
    const value = code.run(row, run.evaluation);
    if (value === undefined || value === null) return undefined;
    values.push(value);
  }
  return valueKey(values);
}
