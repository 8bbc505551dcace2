// The newest samples of a tier (one resolution of the store), in memory: all series of the current time span, compressed on append. The number of series is bounded.
import { ChunkWriter, readChunk, samplesPerChunk } from '../encoding/chunk.ts';
import { testOf } from '../query/match.ts';
import type { FlatSample, Labels, Matcher, Series } from '../sample.ts';
import { SeriesLookup } from './series-lookup.ts';

/** Compressed samples of one series. */
export interface Chunk {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
  readonly bytes: Uint8Array;
}

export class HeadSeries {
  /** Counts up from 0 in creation order. */
  readonly id: number;
  /** Includes `__name__`. */
  readonly labels: Labels;
  /** The newest value; 0 before the first sample, also when a log is replayed. */
  value = 0;
  /** The newest sample left `value` as it was. */
  isUnchanged = false;
  readonly #full: Chunk[] = [];
  #open = new ChunkWriter();

  constructor(id: number, labels: Labels) {
    this.id = id;
    this.labels = labels;
  }

  /** Drops a sample that is not newer than the last one. */
  append(timeMs: number, value: number): boolean {
    const open = this.#open;
    if (open.count > 0 && timeMs <= open.lastMs) return false;
    if (open.count === samplesPerChunk) {
      this.#full.push(chunkOf(open));
      this.#open = new ChunkWriter();
    }
    this.#open.append(timeMs, value);
    this.isUnchanged = Object.is(value, this.value);
    this.value = value;
    return true;
  }

  chunks(): Chunk[] {
    return this.#open.count === 0 ? [...this.#full] : [...this.#full, chunkOf(this.#open)];
  }
}

const chunkOf = (writer: ChunkWriter): Chunk => ({
  firstMs: writer.firstMs,
  lastMs: writer.lastMs,
  count: writer.count,
  bytes: writer.bytes(),
});

export class Head {
  readonly #series: HeadSeries[] = [];
  readonly #lookup: SeriesLookup<HeadSeries>;

  constructor(seriesMax: number) {
    this.#lookup = new SeriesLookup(seriesMax, (labels) => {
      const series = new HeadSeries(this.#series.length, labels);
      this.#series.push(series);
      return series;
    });
  }

  get series(): readonly HeadSeries[] {
    return this.#series;
  }

  /** How many samples were dropped because the series limit was reached. */
  get refused(): number {
    return this.#lookup.refused;
  }

  /** Calls `accepted` for every series that accepted its sample. */
  append(timeMs: number, samples: Iterable<FlatSample>, accepted: (series: HeadSeries) => void): void {
    this.#lookup.each(samples, (series, value) => {
      if (series.append(timeMs, value)) accepted(series);
    });
  }

  /** For log replay: adds the next series in creation order. */
  restore(labels: Labels): void {
    this.#lookup.findOrAdd(labels);
  }

  select(matchers: readonly Matcher[], fromMs: number, toMs: number): Series[] {
    const matches = testOf(matchers);
    return this.#series
      .filter(({ labels }) => matches(labels))
      .map((series) => ({ labels: series.labels, ...samplesOf(series.chunks(), fromMs, toMs) }))
      .filter(({ timesMs }) => timesMs.length > 0);
  }
}

/** Decodes the samples of these chunks inside an interval (both ends included). */
export function samplesOf(
  chunks: readonly Chunk[],
  fromMs: number,
  toMs: number,
): { timesMs: Float64Array; values: Float64Array } {
  const inRange = chunks.filter(({ firstMs, lastMs }) => lastMs >= fromMs && firstMs <= toMs);
  const count = inRange.reduce((sum, chunk) => sum + chunk.count, 0);
  const timesMs = new Float64Array(count);
  const values = new Float64Array(count);
  let start = 0;
  for (const { bytes, count } of inRange) {
    readChunk(bytes, count, { timesMs, values, start });
    start += count;
  }
  const from = firstFrom(timesMs, fromMs);
  const to = firstFrom(timesMs, toMs + 1);
  return { timesMs: timesMs.subarray(from, to), values: values.subarray(from, to) };
}

/** Binary search: the index of the first timestamp (whole milliseconds) that is not before `wantedMs`. */
function firstFrom(timesMs: Float64Array, wantedMs: number): number {
  let [low, high] = [0, timesMs.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((timesMs[middle] as number) < wantedMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
