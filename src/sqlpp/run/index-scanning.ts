// Scans of an index. A scan with few rows returns them without a promise.
import type { IndexRow, IndexScan } from '../datastore/indexes.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import type { IndexScan as PlannedScan } from '../plan/operators.ts';
import { nestableBounds } from '../plan/spans.ts';
import { compileHasNested, compileSpans, type SpansCode } from './bounds.ts';
import type { BlockCompiler, Code } from './code.ts';
import { HeldMemory } from './held-memory.ts';
import { type Batch, batchRows, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';
import { bytesOfId } from './seen-ids.ts';
import { ended, type Step, StepIterator } from './step-iterator.ts';

export function indexScan(compiler: BlockCompiler, scan: PlannedScan): Pull {
  const isPushed = scan.limit !== undefined || scan.offset !== undefined;
  const parts: ScanParts = {
    scan,
    spans: compileSpans(compiler, scan.spans),
    limit: scan.limit && compiler.code(scan.limit),
    offset: scan.offset && compiler.code(scan.offset),
    isWider: compileHasNested(compiler, nestableBounds(isPushed ? scan.spans : [])),
    keys: scan.covers.map((cover) => cover.position),
  };
  return (run, seed) => new IndexRows(parts, run, seed);
}

interface ScanParts {
  readonly scan: PlannedScan;
  readonly spans: SpansCode;
  readonly limit: Code | undefined;
  readonly offset: Code | undefined;
  /** Whether the spans may contain rows that the predicate excludes: then the filter comes before limit and offset. */
  readonly isWider: (run: Run, row: Row) => boolean;
  /** The positions of the keys that the scan returns. */
  readonly keys: readonly number[];
}

class IndexRows extends StepIterator<Batch> {
  readonly #parts: ScanParts;
  readonly #run: Run;
  /** Each row of the scan is a copy of it, with the values of the index added. */
  readonly #seed: Row;
  #hasBegun = false;
  /** The rows of a scan that waits, or has many. */
  #later: AsyncGenerator<Batch, undefined> | null = null;

  constructor(parts: ScanParts, run: Run, seed: Row) {
    super();
    this.#parts = parts;
    this.#run = run;
    this.#seed = seed;
  }

  step(): Step<Batch> | Promise<Step<Batch>> {
    if (this.#later !== null) return this.#later.next();
    if (this.#hasBegun) return ended;
    this.#hasBegun = true;
    const wanted = this.#wanted();
    if (wanted === null) return ended;
    return wanted instanceof Promise ? this.#begin(wanted) : this.#now(wanted);
  }

  #now(wanted: IndexScan): Step<Batch> | Promise<Step<Batch>> {
    const rows = this.#run.context.datastore.indexes.scanNow?.(wanted) ?? 'waits';
    if (rows === 'waits') return this.#begin(wanted);
    return rows === 'many' ? this.#begin({ ...wanted, hasManyRows: true }) : this.#all(rows);
  }

  async return(): Promise<Step<Batch>> {
    this.#hasBegun = true;
    await this.#later?.return(undefined);
    return ended;
  }

  #begin(wanted: IndexScan | Promise<IndexScan | null>): Promise<Step<Batch>> {
    this.#later = this.#rows(wanted);
    return this.#later.next();
  }

  /**
   * The request to the index; null: the scan has no rows. A promise if a bound or a limit needs a subquery, or the scan consistency the
   * seqnos of the data service.
   */
  #wanted(): IndexScan | null | Promise<IndexScan | null> {
    const { scan } = this.#parts;
    const spans = this.#spans();
    if (spans instanceof Promise) return this.#wantedLater(spans);
    if (this.#isEmpty(spans)) return null;
    const { limit, offset } = this.#pushed();
    const most = limitOf(limit, this.#run, this.#seed);
    if (most instanceof Promise) return this.#wantedLater(spans, most);
    const skipped = offsetOf(offset, this.#run, this.#seed);
    if (skipped instanceof Promise) return this.#wantedLater(spans, most, skipped);
    if (most <= 0) return null;
    const consistency = this.#run.context.consistency(scan.keyspace.keyspace as Keyspace);
    return consistency instanceof Promise
      ? consistency.then((known) => this.#scanOf(spans, most, skipped, known))
      : this.#scanOf(spans, most, skipped, consistency);
  }

  /** As `#wanted`: awaits spans, limit and offset one after the other, as each may need subqueries. */
  async #wantedLater(
    pendingSpans: Spans | Promise<Spans>,
    pendingLimit?: number | Promise<number>,
    pendingOffset?: number | Promise<number>,
  ): Promise<IndexScan | null> {
    const { scan } = this.#parts;
    const spans = await pendingSpans;
    if (this.#isEmpty(spans)) return null;
    const { limit, offset } = this.#pushed();
    const most = await (pendingLimit ?? limitOf(limit, this.#run, this.#seed));
    const skipped = await (pendingOffset ?? offsetOf(offset, this.#run, this.#seed));
    if (most <= 0) return null;
    const consistency = await this.#run.context.consistency(scan.keyspace.keyspace as Keyspace);
    return this.#scanOf(spans, most, skipped, consistency);
  }

  #spans(): Spans | Promise<Spans> {
    return this.#run.value(() => this.#parts.spans(this.#run, this.#seed));
  }

  /** No value fulfils the predicate. A plan without spans reads the whole index. */
  #isEmpty(spans: Spans): boolean {
    return spans.length === 0 && this.#parts.scan.spans.length > 0;
  }

  /** The limits that the scan applies itself. */
  #pushed(): { readonly limit?: Code | undefined; readonly offset?: Code | undefined } {
    return this.#parts.isWider(this.#run, this.#seed) ? {} : this.#parts;
  }

  #scanOf(spans: Spans, limit: number, offset: number, consistency: IndexScan['consistency']): IndexScan {
    const { scan, keys } = this.#parts;
    const { context } = this.#run;
    return {
      index: scan.index,
      spans,
      keys,
      isReverse: scan.isReverse,
      isDistinct: scan.isDistinct,
      offset,
      limit,
      consistency,
      waitMs: context.scanWaitMs,
      signal: context.signal,
      yieldIfDue: this.#yieldIfDue,
    };
  }

  readonly #yieldIfDue = (): Promise<void> | undefined => this.#run.yieldIfDue();

  /** The few rows of a scan. */
  #all(found: readonly IndexRow[]): Step<Batch> {
    this.#run.phase('indexScan').items += found.length;
    if (found.length === 0) return ended;
    return { done: false, value: found.map((entry) => this.#row(entry)) };
  }

  async *#rows(pending: IndexScan | Promise<IndexScan | null>): AsyncGenerator<Batch, undefined> {
    const wanted = await pending;
    if (wanted === null) return;
    const batches = this.#run.context.datastore.indexes.scan(wanted);
    const phase = this.#run.phase('indexScan');
    const memory = new HeldMemory(this.#run);
    try {
      for await (const rows of batches) {
        phase.items += rows.length;
        // Until its end such a scan keeps the ids that it has returned.
        if (wanted.isDistinct) memory.hold(rows.reduce((sum, { id }) => sum + bytesOfId(id), 0));
        for (let at = 0; at < rows.length; at += batchRows) {
          yield rows.slice(at, at + batchRows).map((entry) => this.#row(entry));
          const pause = this.#run.yieldIfDue();
          if (pause !== undefined) await pause;
        }
      }
    } finally {
      memory.release();
    }
  }

  #row(entry: IndexRow): Row {
    const { scan } = this.#parts;
    const row = this.#seed.slice();
    row[scan.source.idSlot as number] = entry.id;
    const { covers } = scan;
    for (let at = 0; at < covers.length; at++)
      row[(covers[at] as (typeof covers)[number]).slot] = entry.keys[at];
    for (const { slot, constant } of scan.constants) row[slot] = constant;
    return row;
  }
}

type Spans = IndexScan['spans'];

export const limitOf = (code: Code | undefined, run: Run, seed: Row): number | Promise<number> =>
  code ? run.count(code, seed, 'LIMIT') : Number.POSITIVE_INFINITY;

export const offsetOf = (code: Code | undefined, run: Run, seed: Row): number | Promise<number> =>
  code ? run.count(code, seed, 'OFFSET') : 0;
