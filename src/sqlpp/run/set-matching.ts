// INTERSECT and EXCEPT: counts the values of the right side in memory. Above the request's memory share, values without a count
// are written to scratch files with the values of the left side that may match them.
import type { Value } from '../values/value.ts';
import { groupKey } from './keys.ts';
import { deepestLevel, PartitionedRows, partitions } from './partitioned-rows.ts';
import type { Run } from './run.ts';

export interface SetRule {
  readonly isIntersect: boolean;
  /** ALL: each value of the right side matches one value of the left. */
  readonly isAll: boolean;
}

type Values = AsyncIterable<readonly Value[]>;

/** The estimated memory of a count in addition to its key. */
const entryBytes = 64;

/** The remaining values of the left side; without ALL they may be repeated. */
export async function* matchingValues(
  run: Run,
  rule: SetRule,
  left: Values,
  right: Values,
  level = 0,
): AsyncGenerator<Value[]> {
  const counts = new RightCounts(run, level);
  let spilled: PartitionedRows | undefined;
  try {
    for await (const values of right) await counts.add(values);
    if (counts.spilled) spilled = new PartitionedRows(run, level);
    for await (const values of left) {
      const matching: Value[] = [];
      const pause = run.slices.each(values, (value) => {
        const key = groupKey([value]);
        if (spilled && !counts.has(key)) spilled.add(key, [value]);
        else if (counts.match(key, rule.isAll) === rule.isIntersect) matching.push(value);
      });
      if (pause !== undefined) await pause;
      yield matching;
      await spilled?.flush();
      await run.yieldIfDue();
    }
    counts.discard();
    for (let part = 0; counts.spilled && spilled && part < partitions; part++) {
      const [lefts, rights] = [firsts(spilled.rows(part)), firsts(counts.spilled.rows(part))];
      yield* matchingValues(run, rule, lefts, rights, level + 1);
    }
  } finally {
    counts.discard();
    await counts.spilled?.close();
    await spilled?.close();
  }
}

async function* firsts(rows: AsyncIterable<Value[][]>): AsyncGenerator<Value[]> {
  for await (const batch of rows) yield batch.map(([value]) => value);
}

class RightCounts {
  /** The values of the right side for which there is no memory; undefined: there are none. */
  spilled: PartitionedRows | undefined;
  readonly #run: Run;
  /** How many times these values were already divided into scratch files. */
  readonly #level: number;
  readonly #counts = new Map<string, number>();
  #bytes = 0;

  constructor(run: Run, level: number) {
    this.#run = run;
    this.#level = level;
  }

  async add(values: readonly Value[]): Promise<void> {
    const before = this.#bytes;
    const pause = this.#run.slices.each(values, (value) => this.#addOne(value));
    if (pause !== undefined) await pause;
    this.#run.hold(this.#bytes - before);
    await this.spilled?.flush();
    await this.#run.yieldIfDue();
  }

  has(key: string): boolean {
    return this.#counts.has(key);
  }

  /** Whether the right side has the value; with ALL, whether it has an unmatched one. */
  match(key: string, isAll: boolean): boolean {
    const count = this.#counts.get(key) ?? 0;
    if (isAll && count > 0) this.#counts.set(key, count - 1);
    return count > 0;
  }

  discard(): void {
    this.#counts.clear();
    this.#run.release(this.#bytes);
    this.#bytes = 0;
  }

  #addOne(value: Value): void {
    const key = groupKey([value]);
    const count = this.#counts.get(key);
    if (count === undefined && this.#bytes > this.#run.context.spillBytes && this.#level < deepestLevel) {
      this.spilled ??= new PartitionedRows(this.#run, this.#level);
      this.spilled.add(key, [value]);
      return;
    }
    if (count === undefined) this.#bytes += 2 * key.length + entryBytes;
    this.#counts.set(key, (count ?? 0) + 1);
  }
}
