// Sorted runs of rows in scratch files, and their merge.
import type { Value } from '../values/value.ts';
import type { ScratchFile } from './engine.ts';
import { batchRows, type Row } from './row.ts';
import type { Run } from './run.ts';
import type { CompareRows, SortableRow } from './sortable-row.ts';
import { SpillReader, SpillWriter } from './spilled-rows.ts';

interface Position {
  readonly offset: number;
  readonly length: number;
}

/** The size of the rows that are written and read at once: a merge has one such part of each run in memory, as bytes. */
const partBytes = 32 << 10;

export class SpilledRuns {
  readonly #run: Run;
  readonly #compare: CompareRows;
  readonly #runs: Position[][] = [];
  #file: ScratchFile | undefined;

  constructor(run: Run, compare: CompareRows) {
    this.#run = run;
    this.#compare = compare;
  }

  /** Merges sorted rows into one run of the file: the fewer runs, the fewer rows the last merge has in memory. */
  async add(inMemory: readonly (readonly SortableRow[])[]): Promise<void> {
    this.#file ??= await this.#run.context.scratch();
    const file = this.#file;
    const positions: Position[] = [];
    const heap = new HeadHeap(
      inMemory.map((rows) => new RunHead(undefined, [], rows)),
      this.#compare,
    );
    const part = new SpillWriter();
    while (heap.least) {
      fillPart(part, heap);
      positions.push(await file.append(part.drain()));
      await this.#run.yieldIfDue();
    }
    this.#runs.push(positions);
  }

  /** Merges all runs and the given sorted rows. */
  async *merge(inMemory: readonly (readonly SortableRow[])[]): AsyncGenerator<Row[]> {
    const heads: RunHead[] = this.#runs.map((positions) => new RunHead(this.#file as ScratchFile, positions));
    for (const rows of inMemory) heads.push(new RunHead(undefined, [], rows));
    for (const head of heads) await head.fill();
    const heap = new HeadHeap(heads, this.#compare);
    let out: Row[] = [];
    for (let least = heap.least; least; least = heap.least) {
      out.push((least.current as SortableRow).row);
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

/** Adds the first rows of runs in memory, with their keys. */
function fillPart(part: SpillWriter, heap: HeadHeap): void {
  for (let { least } = heap; least && part.size < partBytes; { least } = heap) {
    const { keys, row } = least.current as SortableRow;
    part.add([keys as Value, row]);
    least.advance();
    heap.moveLeast();
  }
}

/** A binary heap of runs by their next rows. */
class HeadHeap {
  readonly #heads: RunHead[];
  readonly #compare: CompareRows;

  constructor(heads: readonly RunHead[], compare: CompareRows) {
    this.#compare = compare;
    this.#heads = heads
      .filter((head) => head.current)
      .sort((a, b) => compare(a.current as SortableRow, b.current as SortableRow));
  }

  get least(): RunHead | undefined {
    return this.#heads[0];
  }

  /** Restores the order of the heap after its first run has advanced. Removes that run at its end. */
  moveLeast(): void {
    const heads = this.#heads;
    const last = heads.length - 1;
    if (!(heads[0] as RunHead).current) {
      const moved = heads.pop() as RunHead;
      if (last === 0) return;
      heads[0] = moved;
    }
    const head = heads[0] as RunHead;
    const count = heads.length;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      if (child + 1 < count && this.#isBefore(heads[child + 1] as RunHead, heads[child] as RunHead)) child++;
      if (!this.#isBefore(heads[child] as RunHead, head)) break;
      heads[at] = heads[child] as RunHead;
      at = child;
    }
    heads[at] = head;
  }

  #isBefore(a: RunHead, b: RunHead): boolean {
    return this.#compare(a.current as SortableRow, b.current as SortableRow) < 0;
  }
}

/** The next row of one run. */
class RunHead {
  current: SortableRow | undefined;
  readonly #file: ScratchFile | undefined;
  readonly #positions: readonly Position[];
  readonly #rows: readonly SortableRow[];
  #part: SpillReader | undefined;
  #next = 0;

  /** A run in a file needs `fill` before its first row. A run in memory is given as `rows`. */
  constructor(
    file: ScratchFile | undefined,
    positions: readonly Position[],
    rows: readonly SortableRow[] = [],
  ) {
    this.#file = file;
    this.#positions = positions;
    this.#rows = rows;
    if (file === undefined) this.advance();
  }

  /** Moves to the next row. If `current` is then undefined, `fill` may read more rows. */
  advance(): void {
    if (this.#file === undefined) {
      this.current = this.#rows[this.#next++];
      return;
    }
    const [keys, row] = this.#part?.next() ?? [];
    this.current = row === undefined ? undefined : { keys: keys as Row, row: row as Row };
  }

  async fill(): Promise<void> {
    const position = this.#positions[this.#next];
    if (this.current || !position || !this.#file) return;
    this.#next++;
    this.#part = new SpillReader(await this.#file.read(position));
    this.advance();
  }
}
