// DISTINCT: removes rows whose keys earlier rows had. Above the request's memory share, rows with new keys are written to scratch
// files and returned after the others.
import type { Value } from '../values/value.ts';
import { deepestLevel, PartitionedRows, partitions } from './partitioned-rows.ts';
import type { Run } from './run.ts';

type KeyOf = (row: readonly Value[]) => string;

/** The estimated memory of a key in addition to its text. */
const entryBytes = 64;

export class DistinctRows {
  readonly #run: Run;
  readonly #keyOf: KeyOf;
  /** How many times these rows were already divided into scratch files. */
  readonly #level: number;
  readonly #seen = new Set<string>();
  #bytes = 0;
  #spilled: PartitionedRows | undefined;

  constructor(run: Run, keyOf: KeyOf, level = 0) {
    this.#run = run;
    this.#keyOf = keyOf;
    this.#level = level;
  }

  /** Returns the rows with new keys, except those that were spilled, which `rest` returns. */
  async fresh<T extends readonly Value[]>(rows: readonly T[]): Promise<T[]> {
    const before = this.#bytes;
    const fresh: T[] = [];
    const pause = this.#run.slices.each(rows, (row) => {
      if (this.#isNew(row)) fresh.push(row);
    });
    if (pause !== undefined) await pause;
    this.#run.hold(this.#bytes - before);
    await this.#spilled?.flush();
    return fresh;
  }

  /** The rows of the scratch files, after the end of the input. */
  async *rest(): AsyncGenerator<Value[][]> {
    this.#discard();
    for (let part = 0; this.#spilled && part < partitions; part++) {
      const distinct = new DistinctRows(this.#run, this.#keyOf, this.#level + 1);
      try {
        for await (const rows of this.#spilled.rows(part)) yield await distinct.fresh(rows);
        yield* distinct.rest();
      } finally {
        await distinct.close();
      }
    }
  }

  async close(): Promise<void> {
    this.#discard();
    await this.#spilled?.close();
    this.#spilled = undefined;
  }

  #isNew(row: readonly Value[]): boolean {
    const key = this.#keyOf(row);
    if (this.#seen.has(key)) return false;
    if (this.#bytes > this.#run.context.spillBytes && this.#level < deepestLevel) {
      this.#spilled ??= new PartitionedRows(this.#run, this.#level);
      this.#spilled.add(key, row);
      return false;
    }
    this.#seen.add(key);
    this.#bytes += 2 * key.length + entryBytes;
    return true;
  }

  #discard(): void {
    this.#seen.clear();
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (this.#spilled || this.#level > 0) this.#run.releaseDiscarded(bytes);
    else this.#run.release(bytes);
  }
}
