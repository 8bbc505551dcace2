// One resolution of the store: a head in memory with its write-ahead log, and blocks on disk. At the end of a time span the head
// becomes a block; its log is deleted once the block is synced.
import { type Clock, pausesOf } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { labelsKey } from '../query/combine.ts';
import { testOf } from '../query/match.ts';
import type { FlatSample, Matcher, Selection, Series } from '../sample.ts';
import { type BlockBounds, Blocks, SampleBudget } from './blocks.ts';
import type { LogFile, StoreFiles } from './files.ts';
import { type Chunk, Head, type HeadSeries } from './head.ts';
import { LogEncoder, replay } from './head-log.ts';
import { type Run, samplesOfRuns } from './runs.ts';
import { bySpan, type SpanId, spanName, spanOfFile } from './span.ts';

export interface TierOptions {
  files: StoreFiles;
  clock: Clock;
  log: Log;
  bounds: BlockBounds & { readonly seriesMax: number };
}

interface Span extends SpanId {
  readonly head: Head;
  readonly encoder: LogEncoder;
  file: LogFile | null;
  /** The valid length of the log; bytes after it are a crash remnant and are truncated. */
  logBytes: number;
  /** Not yet passed to the file system. */
  pending: Buffer[];
  /** False once a record was dropped: the samples are in memory only until the block is written. */
  isLogged: boolean;
}

/**
 * The most log records of a span that wait to be written. With one more, no further records of the span are logged. Before the folder is read, as
 * many sets of samples wait; later ones are dropped.
 */
const pendingMax = 360;
/** The most ended spans that wait for their block to be written. With one more, the oldest is dropped from memory. */
const endedMax = 2;
/** How long the thread replays records, or collects or decodes series, before it yields. */
const sliceMs = 5;

/** After a smaller backward step of the clock, samples are dropped until the time is reached again. */
const toleratedBackMs = 60_000;
const logSuffix = '.log';
const logName = (span: SpanId) => `${spanName(span)}${logSuffix}`;

/** The compressed samples of one series. */
interface CompressedSeries {
  readonly labels: Series['labels'];
  readonly runs: Run[];
}

/** Damage found in the log of a span. */
interface Damage {
  readonly startMs: number;
  readonly text: string;
}

export class Tier {
  readonly #options: TierOptions;
  readonly #blocks: Blocks;
  #span: Span | null = null;
  /** Past spans whose blocks are not written yet. */
  #ended: Span[] = [];
  /** The time of the newest sample. */
  #lastMs = 0;
  #isOpen = false;
  /** Samples that were appended before `open` had read the folder. */
  #early: { timeMs: number; samples: readonly FlatSample[] }[] = [];
  /** Resolves when the running writer has ended; never rejects. */
  #work: Promise<void> = Promise.resolve();
  #isWriting = false;
  #hasReportedRefused = false;
  #hasReportedFailure = false;
  readonly #damages: Damage[] = [];
  /** Spans whose logs could not be read: the files stay for the next start, so that others must not take their names. */
  readonly #unreadable: SpanId[] = [];

  constructor(options: TierOptions) {
    this.#options = options;
    this.#blocks = new Blocks(options);
  }

  /** The total size of the blocks. */
  get blockBytes(): number {
    return this.#blocks.bytes;
  }

  get startMs(): number | null {
    return this.#blocks.startMs ?? this.#ended[0]?.startMs ?? this.#span?.startMs ?? null;
  }

  /** Reads the folder. Samples appended before it is done are queued. */
  async open(): Promise<void> {
    const { files, clock } = this.#options;
    const found = await files.list();
    this.#blocks.adopt(found);
    const logs = found.map(({ name }) => spanOfFile(name, logSuffix)).filter((span) => span !== null);
    for (const span of logs.sort(bySpan)) {
      try {
        await this.#restore(span);
      } catch (error) {
        this.#unreadable.push(span);
        this.#damaged(span, error as Error);
      }
    }
    this.#isOpen = true;
    this.#write(() => this.#blocks.expire(clock.wallMs()));
    for (const { timeMs, samples } of this.#early) this.append(timeMs, samples);
    this.#early = [];
    await this.#work;
  }

  append(timeMs: number, samples: Iterable<FlatSample>): void {
    if (!this.#isOpen) {
      if (this.#early.length < pendingMax) this.#early.push({ timeMs, samples: [...samples] });
      return;
    }
    const backMs = this.#lastMs - timeMs;
    if (backMs >= 0 && backMs <= toleratedBackMs) return;
    this.#lastMs = timeMs;
    if (backMs > 0) this.#startNewVersion(backMs);
    const span = this.#spanOf(timeMs);
    const accepted: HeadSeries[] = [];
    span.head.append(timeMs, samples, (series) => accepted.push(series));
    this.#queue(span, span.encoder.record(span.head, timeMs, accepted));
    if (span.head.refused > 0) this.#makeRoom(accepted.length);
    if (!this.#isWriting) this.#write();
  }

  async select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    visible: (labels: Series['labels']) => boolean = () => true,
  ): Promise<Selection> {
    const test = testOf(matchers);
    const matches = (labels: Series['labels']) => test(labels) && visible(labels);
    const heads = [...this.#ended, ...(this.#span ? [this.#span] : [])];
    // Evaluated in the same synchronous step as the list of blocks: a span is in a block or in a head, never in both.
    const inHead = heads.filter((span) => !this.#blocks.has(span));
    const budget = new SampleBudget(this.#options.bounds.samplesMax);
    const { series, problems } = await this.#blocks.select(matches, matchers, { fromMs, toMs, budget });
    const compressed = new Map<string, CompressedSeries>();
    const add = (labels: Series['labels'], chunks: readonly Chunk[]): void => {
      const key = labelsKey(labels);
      const existing = compressed.get(key);
      if (existing) existing.runs.push(chunks);
      else compressed.set(key, { labels, runs: [chunks] });
    };
    const pause = pausesOf(this.#options.clock, sliceMs);
    for (const { labels, chunks } of series) {
      add(labels, chunks);
      await pause();
    }
    for (const { head } of inHead) {
      for (const oneSeries of head.series) {
        await pause();
        if (!matches(oneSeries.labels)) continue;
        const chunks = oneSeries
          .chunks()
          .filter(({ firstMs, lastMs }) => lastMs >= fromMs && firstMs <= toMs);
        budget.spend(chunks);
        add(oneSeries.labels, chunks);
      }
    }
    const damaged = this.#damages.filter(({ startMs }) => this.#overlaps(startMs, fromMs, toMs));
    return {
      series: await this.#decode(compressed, fromMs, toMs),
      problems: [...damaged.map(({ text }) => text), ...problems],
    };
  }

  /** Returns the series in the order of their keys in `compressed`. */
  async #decode(
    compressed: ReadonlyMap<string, CompressedSeries>,
    fromMs: number,
    toMs: number,
  ): Promise<Series[]> {
    const found: Series[] = [];
    const pause = pausesOf(this.#options.clock, sliceMs);
    const inOrder = [...compressed].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [, { labels, runs }] of inOrder) {
      const samples = samplesOfRuns(runs, fromMs, toMs);
      if (samples.timesMs.length > 0) found.push({ labels, ...samples });
      await pause();
    }
    return found;
  }

  /** Resolves once everything appended so far is on disk, or a write has failed. */
  async written(): Promise<void> {
    await this.#work;
  }

  /** Tries once more to write what a full or failing disk has refused. */
  async close(): Promise<void> {
    await this.#work;
    this.#write();
    await this.#work;
    for (const span of [...this.#ended, this.#span]) await span?.file?.close();
    await this.#blocks.close();
  }

  /** A record depends on those before it: once one is dropped, the span is in memory only until its block is written. */
  #queue(span: Span, record: Buffer): void {
    if (!span.isLogged) return;
    span.pending.push(record);
    if (span.pending.length <= pendingMax) return;
    span.pending = [];
    span.isLogged = false;
    this.#options.log.error('metrics.log_given_up', { startMs: span.startMs });
  }

  #spanOf(timeMs: number): Span {
    const { spanMs } = this.#options.bounds;
    const startMs = Math.floor(timeMs / spanMs) * spanMs;
    if (this.#span?.startMs === startMs) return this.#span;
    this.#endSpan();
    this.#span = this.#newSpan(startMs);
    return this.#span;
  }

  /** The clock was set back: starts a new version of the span and keeps the earlier one. */
  #startNewVersion(backMs: number): void {
    this.#options.log.warn('metrics.clock_set_back', { seconds: Math.round(backMs / 1000) });
    this.#endSpan();
  }

  #endSpan(): void {
    if (this.#span) this.#ended.push(this.#span);
    this.#span = null;
    if (this.#ended.length <= endedMax) return;
    const lost = this.#ended.shift();
    // The log remains, so the next start retries.
    lost?.file?.close().catch(() => {});
    this.#options.log.error('metrics.span_dropped', { startMs: lost?.startMs });
  }

  #nextVersion(startMs: number): number {
    const same = [...this.#blocks.spans, ...this.#ended, ...this.#unreadable].filter(
      (span) => span.startMs === startMs,
    );
    return Math.max(-1, ...same.map(({ version }) => version)) + 1;
  }

  #newSpan(startMs: number): Span {
    const head = new Head(this.#options.bounds.seriesMax);
    return {
      startMs,
      version: this.#nextVersion(startMs),
      head,
      encoder: new LogEncoder(0),
      file: null,
      logBytes: 0,
      pending: [],
      isLogged: true,
    };
  }

  #overlaps(startMs: number, fromMs: number, toMs: number): boolean {
    return startMs <= toMs && startMs + this.#options.bounds.spanMs > fromMs;
  }

  /** Runs one writer at a time until no work is left. */
  #write(first: () => Promise<void> = async () => {}): void {
    this.#isWriting = true;
    this.#work = this.#writeAll(first).finally(() => {
      this.#isWriting = false;
    });
  }

  /** Writes the logs of all spans before the blocks of ended spans: a disk without space for a block may have space for a record. */
  async #writeAll(first: () => Promise<void>): Promise<void> {
    try {
      await first();
      for (;;) {
        const [ended] = this.#ended;
        const unlogged = [this.#span, ...this.#ended].find((span) => span && span.pending.length > 0);
        if (unlogged) await this.#log(unlogged);
        else if (ended) await this.#writeBlock(ended);
        else break;
      }
      this.#hasReportedFailure = false;
    } catch (error) {
      if (!this.#hasReportedFailure)
        this.#options.log.error('metrics.write_failed', { reason: String(error) });
      this.#hasReportedFailure = true;
    }
  }

  async #log(span: Span): Promise<void> {
    const records = span.pending;
    span.pending = [];
    try {
      span.file ??= await this.#options.files.openLog(logName(span), span.logBytes);
      const bytes = Buffer.concat(records);
      await span.file.append(bytes);
      span.logBytes += bytes.length;
    } catch (error) {
      span.pending.unshift(...records);
      throw error;
    }
  }

  async #writeBlock(span: Span): Promise<void> {
    const { files, clock } = this.#options;
    const series = span.head.series.map((oneSeries) => ({
      labels: oneSeries.labels,
      chunks: oneSeries.chunks(),
    }));
    await this.#blocks.add(span, series);
    this.#ended = this.#ended.filter((other) => other !== span);
    await span.file?.close();
    await files.remove(logName(span));
    await this.#blocks.expire(clock.wallMs());
  }

  async #restore(id: SpanId): Promise<void> {
    const { files, bounds, clock } = this.#options;
    if (this.#blocks.has(id)) return files.remove(logName(id));
    const bytes = await files.readAll(logName(id));
    const head = new Head(bounds.seriesMax);
    const logBytes = await this.#replay(bytes, head, id);
    const span = {
      ...id,
      head,
      encoder: new LogEncoder(head.series.length),
      file: null,
      logBytes,
      pending: [],
      isLogged: true,
    };
    const isOver = id.startMs + bounds.spanMs <= clock.wallMs();
    if (this.#span) this.#ended.push(this.#span);
    this.#span = isOver ? null : span;
    if (isOver) this.#ended.push(span);
  }

  async #replay(bytes: Buffer, head: Head, span: SpanId): Promise<number> {
    const { clock } = this.#options;
    let end = 0;
    const pause = pausesOf(clock, sliceMs);
    try {
      for (const record of replay(bytes, head)) {
        end = record.end;
        this.#lastMs = record.timeMs;
        await pause();
      }
    } catch (error) {
      this.#damaged(span, error as Error);
    }
    return end;
  }

  /** Reports the log of a span as damaged, in the node's log and to queries of its time. */
  #damaged(span: SpanId, { message }: Error): void {
    const text = `metrics file ${logName(span)}: ${message}`;
    this.#damages.push({ startMs: span.startMs, text });
    this.#options.log.error('metrics.damaged', { file: logName(span), reason: text });
  }

  /** Most series of a full head may be those of deleted buckets: then the next sample begins another version of the span. */
  #makeRoom(continuing: number): void {
    const { seriesMax } = this.#options.bounds;
    if (continuing <= seriesMax / 2) this.#endSpan();
    else if (!this.#hasReportedRefused) {
      this.#hasReportedRefused = true;
      this.#options.log.warn('metrics.too_many_series', { limit: seriesMax });
    }
  }
}
