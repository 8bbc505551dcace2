// Sorted runs of rows in scratch files, and their merge.
import type { ScratchFile } from './engine.ts';
import { batchRows, type Row } from './row.ts';
import { decodeRows, encodeRows } from './row-codec.ts';
import type { Run } from './run.ts';
import type { SortedRow } from './sorting-types.ts';

interface Position {
  readonly offset: number;
  readonly length: number;
}

export class SpilledRuns {
  readonly #run: Run;
  readonly #compare: (a: SortedRow, b: SortedRow) => number;
  readonly #runs: Position[][] = [];
  #file: ScratchFile | undefined;

  constructor(run: Run, compare: (a: SortedRow, b: SortedRow) => number) {
    this.#run = run;
    this.#compare = compare;
  }

  async add(rows: readonly SortedRow[]): Promise<void> {
    this.#file ??= await this.#run.context.scratch();
    const positions: Position[] = [];
    for (let at = 0; at < rows.length; at += batchRows) {
      const part = rows.slice(at, at + batchRows);
      positions.push(await this.#file.append(encodeRows(part.map(({ keys, row }) => [keys, row]))));
      await this.#run.yieldIfDue();
    }
    this.#runs.push(positions);
  }

  /** Merges all runs and the given sorted rows. */
  async *merge(inMemory: readonly (readonly SortedRow[])[]): AsyncGenerator<Row[]> {
    const heads: RunHead[] = this.#runs.map((positions) => new RunHead(this.#file as ScratchFile, positions));
    for (const rows of inMemory) heads.push(new RunHead(undefined, [], rows));
    for (const head of heads) await head.fill();
    const heap = new HeadHeap(
      heads.filter((head) => head.current),
      this.#compare,
    );
    let out: Row[] = [];
    for (let least = heap.least; least; least = heap.least) {
      out.push((least.current as SortedRow).row);
      least.advance();
      if (!least.current) await least.fill();
      heap.moveLeast();
      if (out.length < batchRows) continue;
      yield out;
      out = [];
      await this.#run.yieldIfDue();
    }
    if (out.length > 0) yield out;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}

/** A binary heap of runs by their next rows. */
class HeadHeap {
  readonly #heads: RunHead[];
  readonly #compare: (a: SortedRow, b: SortedRow) => number;

  constructor(heads: readonly RunHead[], compare: (a: SortedRow, b: SortedRow) => number) {
    this.#compare = compare;
    this.#heads = [...heads].sort((a, b) => compare(a.current as SortedRow, b.current as SortedRow));
  }

  get least(): RunHead | undefined {
    return this.#heads[0];
  }

  /** Restores the heap after the first run has advanced, or removes it at its end. */
  moveLeast(): void {
    const heads = this.#heads;
    const last = heads.length - 1;
    if (!(heads[0] as RunHead).current) {
      const moved = heads.pop() as RunHead;
      if (last === 0) return;
      heads[0] = moved;
    }
    let at = 0;
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heads.length && this.#isBefore(child, least)) least = child;
      }
      if (least === at) return;
      [heads[at], heads[least]] = [heads[least] as RunHead, heads[at] as RunHead];
      at = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [left, right] = [this.#heads[a] as RunHead, this.#heads[b] as RunHead];
    return this.#compare(left.current as SortedRow, right.current as SortedRow) < 0;
  }
}

/** The next rows of one run. */
class RunHead {
  readonly #file: ScratchFile | undefined;
  readonly #positions: readonly Position[];
  #rows: readonly SortedRow[];
  #next = 0;
  #at = 0;

  constructor(
    file: ScratchFile | undefined,
    positions: readonly Position[],
    rows: readonly SortedRow[] = [],
  ) {
    this.#file = file;
    this.#positions = positions;
    this.#rows = rows;
  }

  get current(): SortedRow | undefined {
    return this.#rows[this.#at];
  }

  advance(): void {
    this.#at++;
  }

  async fill(): Promise<void> {
    const position = this.#positions[this.#next];
    if (this.current || !position || !this.#file) return;
    this.#next++;
    const bytes = await this.#file.read(position);
    this.#rows = decodeRows(bytes).map(([keys, row]) => ({ keys: keys as Row, row: row as Row }));
    this.#at = 0;
  }
}
