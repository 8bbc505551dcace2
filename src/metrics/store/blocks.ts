// The blocks of one tier: lists, opens, reads and expires them. Only a few are open at a time.
import { type Clock, pausesOf } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { testOf } from '../query/match.ts';
import type { Matcher } from '../sample.ts';
import {
  checked,
  DamageError,
  type Entry,
  encodeBlock,
  readEntries,
  type SeriesChunks,
  type Table,
} from './block.ts';
import type { BlockFile, StoreFiles } from './files.ts';
import type { Chunk } from './head.ts';
import { type OpenBlock, OpenBlocks } from './open-blocks.ts';
import { bySpan, isSameSpan, type SpanId, spanName, spanOfFile } from './span.ts';

export interface BlockBounds {
  /** Each block has the samples of one span of this length. */
  readonly spanMs: number;
  readonly retention: { readonly ageMs: number; readonly bytes: number };
  /** A query that would read more samples is refused. */
  readonly samplesMax: number;
}

export class TooManySamplesError extends Error {
  override name = 'TooManySamplesError';

  constructor(limit: number) {
    super(`the query would read more than ${limit} samples; use a shorter range or a larger step`);
  }
}

/** How many samples a query may still read. */
export class SampleBudget {
  readonly #limit: number;
  #left: number;

  constructor(limit: number) {
    this.#limit = limit;
    this.#left = limit;
  }

  spend(chunks: readonly { readonly count: number }[]): void {
    for (const { count } of chunks) this.#left -= count;
    if (this.#left < 0) throw new TooManySamplesError(this.#limit);
  }
}

interface KnownBlock extends SpanId {
  readonly name: string;
  readonly bytes: number;
}

export interface Found {
  readonly series: SeriesChunks[];
  readonly problems: string[];
}

const suffix = '.block';
const blockName = (span: SpanId): string => `${spanName(span)}${suffix}`;

interface BlocksOptions {
  readonly files: StoreFiles;
  readonly log: Log;
  readonly bounds: BlockBounds;
  readonly clock: Pick<Clock, 'monotonicMs' | 'soon'>;
}

/** How long the thread searches before it yields. */
const sliceMs = 5;

export class Blocks {
  readonly #files: StoreFiles;
  readonly #log: Log;
  readonly #clock: BlocksOptions['clock'];
  readonly #bounds: BlockBounds;
  #blocks: KnownBlock[] = [];
  readonly #open: OpenBlocks;
  readonly #reported = new Set<string>();

  constructor({ files, log, bounds, clock }: BlocksOptions) {
    this.#clock = clock;
    this.#files = files;
    this.#open = new OpenBlocks(files);
    this.#log = log;
    this.#bounds = bounds;
  }

  /** `files`: all files of the folder, from which this tier takes its blocks. */
  adopt(files: readonly { name: string; bytes: number }[]): void {
    this.#blocks = files
      .flatMap(({ name, bytes }) => {
        const span = spanOfFile(name, suffix);
        return span ? [{ name, bytes, ...span }] : [];
      })
      .sort(bySpan);
  }

  has(span: SpanId): boolean {
    return this.#blocks.some((block) => isSameSpan(block, span));
  }

  get spans(): readonly SpanId[] {
    return this.#blocks;
  }

  get bytes(): number {
    return this.#blocks.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The earliest timestamp; null if there is no block. */
  get startMs(): number | null {
    return this.#blocks[0]?.startMs ?? null;
  }

  async add({ startMs, version }: SpanId, series: readonly SeriesChunks[]): Promise<void> {
    const parts = encodeBlock(series);
    const name = blockName({ startMs, version });
    await this.#files.write(name, parts);
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    this.#blocks = [...this.#blocks, { name, startMs, version, bytes }].sort(bySpan);
  }

  /** Removes blocks past their age limit, then the oldest while the total size exceeds the limit. */
  async expire(nowMs: number): Promise<void> {
    const { spanMs, retention } = this.#bounds;
    for (let oldest = this.#blocks[0]; oldest; oldest = this.#blocks[0]) {
      const isOld = oldest.startMs + spanMs < nowMs - retention.ageMs;
      if (!isOld && this.bytes <= retention.bytes) return;
      this.#blocks.shift();
      await this.#open.close(oldest.name);
      await this.#files.remove(oldest.name);
      this.#log.debug('metrics.block_expired', { name: oldest.name });
    }
  }

  /** A damaged part is skipped and reported as a problem. */
  async select(
    matches: (labels: Entry['labels']) => boolean,
    matchers: readonly Matcher[],
    { fromMs, toMs, budget }: { fromMs: number; toMs: number; budget: SampleBudget },
  ): Promise<Found> {
    const inRange = this.#blocks.filter(
      ({ startMs }) => startMs <= toMs && startMs + this.#bounds.spanMs > fromMs,
    );
    const problems: string[] = [];
    const pause = pausesOf(this.#clock, sliceMs);
    const query = { matches, matchers, fromMs, toMs, budget, problems, pause };
    const series: SeriesChunks[] = [];
    // One block after the other: the searches of many at a time would use their slices of time in one turn of the thread.
    for (const block of inRange) for (const found of await this.#selectIn(block, query)) series.push(found);
    return { series, problems };
  }

  async close(): Promise<void> {
    await this.#open.closeAll();
  }

  async #selectIn(block: KnownBlock, query: Query): Promise<SeriesChunks[]> {
    const report = (error: unknown): void => {
      const problem = `metrics file ${block.name}: ${(error as Error).message}`;
      query.problems.push(problem);
      if (!this.#reported.has(problem))
        this.#log.error('metrics.damaged', { file: block.name, reason: problem });
      this.#reported.add(problem);
    };
    try {
      return await this.#open.use(block, (opened) => selectFrom(opened, query, report));
    } catch (error) {
      if (error instanceof TooManySamplesError) throw error;
      const hasExpired = !this.#blocks.includes(block);
      if (hasExpired) return [];
      report(error);
      return [];
    }
  }
}

interface Query {
  matches: (labels: Entry['labels']) => boolean;
  matchers: readonly Matcher[];
  fromMs: number;
  toMs: number;
  budget: SampleBudget;
  problems: string[];
  /** Lets other work of the thread run, if it is time. */
  pause: () => Promise<boolean>;
}

/** The metrics whose names match, so that entries of others are not read. */
function namesOf(matchers: readonly Matcher[], table: Table): Iterable<string> {
  const ofNames = matchers.filter(({ label }) => label === '__name__');
  const named = ofNames.find(({ operator }) => operator === '=');
  if (named) return [named.value];
  const meets = testOf(ofNames);
  return [...table.keys()].filter((name) => meets({ __name__: name }));
}

async function selectFrom(
  { file, table }: OpenBlock,
  query: Query,
  report: (error: unknown) => void,
): Promise<SeriesChunks[]> {
  const found: SeriesChunks[] = [];
  for (const name of namesOf(query.matchers, table)) {
    const place = table.get(name);
    if (!place) continue;
    const entries = readEntries(name, await file.read(place.offset, place.length));
    for (const entry of entries) {
      await query.pause();
      if (query.matches(entry.labels)) found.push(await readSeries(file, entry, query, report));
    }
  }
  return found;
}

async function readSeries(
  file: BlockFile,
  { labels, chunks }: Entry,
  { fromMs, toMs, budget }: Query,
  report: (error: unknown) => void,
): Promise<SeriesChunks> {
  const inRange = chunks.filter(({ firstMs, lastMs }) => lastMs >= fromMs && firstMs <= toMs);
  budget.spend(inRange);
  const [first, last] = [inRange[0], inRange.at(-1)];
  if (!first || !last) return { labels, chunks: [] };
  const bytes = await file.read(first.offset, last.offset + last.length - first.offset);
  const read: Chunk[] = [];
  for (const { offset, length, firstMs, lastMs, count } of inRange) {
    try {
      const part = bytes.subarray(offset - first.offset, offset - first.offset + length);
      read.push({ firstMs, lastMs, count, bytes: checked(part, `samples of ${labels['__name__']}`) });
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      report(error);
    }
  }
  return { labels, chunks: read };
}
