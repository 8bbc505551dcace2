// Sorted runs of rows in scratch files, and their merge.
import type { ScratchFile } from './engine.ts';
import { batchRows, type Row } from './row.ts';
import { decodeRows, encodeRows } from './row-codec.ts';
import type { Run } from './run.ts';
import type { SortedRow } from './sorting-types.ts';

interface Place {
  readonly offset: number;
  readonly length: number;
}

export class SpilledRuns {
  readonly #run: Run;
  readonly #compare: (a: SortedRow, b: SortedRow) => number;
  readonly #runs: Place[][] = [];
  #file: ScratchFile | undefined;

  constructor(run: Run, compare: (a: SortedRow, b: SortedRow) => number) {
    this.#run = run;
    this.#compare = compare;
  }

  get isEmpty(): boolean {
    return this.#runs.length === 0;
  }

  async add(rows: readonly SortedRow[]): Promise<void> {
    this.#file ??= await this.#run.context.scratch();
    const places: Place[] = [];
    for (let at = 0; at < rows.length; at += batchRows) {
      const part = rows.slice(at, at + batchRows);
      places.push(await this.#file.append(encodeRows(part.map(({ keys, row }) => [keys, row]))));
      await this.#run.breathe();
    }
    this.#runs.push(places);
  }

  /** All runs and these sorted rows, in order. */
  async *merge(rest: readonly SortedRow[]): AsyncGenerator<Row[]> {
    const heads: RunHead[] = this.#runs.map((places) => new RunHead(this.#file as ScratchFile, places));
    if (rest.length > 0) heads.push(new RunHead(undefined, [], rest));
    for (const head of heads) await head.fill();
    let out: Row[] = [];
    for (;;) {
      const least = this.#least(heads);
      if (!least) break;
      out.push((least.current as SortedRow).row);
      least.advance();
      if (!least.current) await least.fill();
      if (out.length < batchRows) continue;
      yield out;
      out = [];
      await this.#run.breathe();
    }
    if (out.length > 0) yield out;
  }

  #least(heads: readonly RunHead[]): RunHead | undefined {
    let least: RunHead | undefined;
    for (const head of heads) {
      if (!head.current) continue;
      if (!least || this.#compare(head.current, least.current as SortedRow) < 0) least = head;
    }
    return least;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}

/** The next rows of one run. */
class RunHead {
  readonly #file: ScratchFile | undefined;
  readonly #places: readonly Place[];
  #rows: readonly SortedRow[];
  #next = 0;
  #at = 0;

  constructor(file: ScratchFile | undefined, places: readonly Place[], rows: readonly SortedRow[] = []) {
    this.#file = file;
    this.#places = places;
    this.#rows = rows;
  }

  get current(): SortedRow | undefined {
    return this.#rows[this.#at];
  }

  advance(): void {
    this.#at++;
  }

  async fill(): Promise<void> {
    const place = this.#places[this.#next];
    if (this.current || !place || !this.#file) return;
    this.#next++;
    const bytes = await this.#file.read(place);
    this.#rows = decodeRows(bytes).map(([keys, row]) => ({ keys: keys as Row, row: row as Row }));
    this.#at = 0;
  }
}
