// The last minutes at one sample per second: a ring buffer of numbers per series, in memory only. Series of collections and of
// histogram bounds are excluded: there may be very many, and no view shows them by the second.
import { testOf } from '../query/match.ts';
import type { FlatSample, Labels, Matcher, Series } from '../sample.ts';
import { SeriesLookup } from './series-lookup.ts';

interface RecordedSeries {
  readonly labels: Labels;
  /** The newest round with a value; -1: none. */
  newest: number;
  /** Null while the value was the same in every round from `first` to `newest`, as those of idle buckets are. */
  ring: Ring | null;
  /** The round of the first value, and that value; not used once there is a ring. */
  first: number;
  value: number;
}

interface Ring {
  readonly values: Float64Array;
  /** The round in which each slot was written; -1: none. */
  readonly rounds: Float64Array;
}

export class RecentSamples {
  readonly #slots: number;
  readonly #lookup: SeriesLookup<RecordedSeries>;
  readonly #timesMs: Float64Array;
  /** How often samples were appended: a round is one time, with the samples of all series. */
  #rounds = 0;
  #newestMs = Number.NEGATIVE_INFINITY;
  /** Whether the newest round had series for which there was no room. */
  #isFull = false;
  #hadTooMany = false;

  constructor({ slots, seriesMax }: { slots: number; seriesMax: number }) {
    this.#slots = slots;
    this.#timesMs = new Float64Array(slots);
    this.#lookup = new SeriesLookup(seriesMax, (labels) => ({
      labels,
      newest: -1,
      ring: null,
      first: 0,
      value: 0,
    }));
  }

  /** Whether there were once more series at the same time than the limit. */
  get hadTooMany(): boolean {
    return this.#hadTooMany;
  }

  append(timeMs: number, samples: Iterable<FlatSample>): void {
    // After the clock was set back the order of samples is unknown: start over.
    if (timeMs < this.#newestMs) this.#lookup.discard(() => true);
    this.#newestMs = timeMs;
    const round = this.#rounds++;
    const slot = round % this.#slots;
    // The series of deleted buckets leave once per pass through the ring, and at once where others need their room.
    if (slot === 0) this.#lookup.discard(({ newest }) => newest < round - this.#slots);
    if (this.#isFull) this.#lookup.discard(({ newest }) => newest < round - 1);
    this.#timesMs[slot] = timeMs;
    const refusedBefore = this.#lookup.refused;
    this.#lookup.each(ofBucketsAndNode(samples), (recorded, value) => this.#record(recorded, value, round));
    const isFull = this.#lookup.refused > refusedBefore;
    this.#hadTooMany ||= isFull && this.#isFull;
    this.#isFull = isFull;
  }

  #record(recorded: RecordedSeries, value: number, round: number): void {
    const { newest } = recorded;
    recorded.newest = round;
    if (newest === -1) {
      recorded.first = round;
      recorded.value = value;
      return;
    }
    const isSame = recorded.ring === null && newest === round - 1 && Object.is(value, recorded.value);
    if (isSame) return;
    recorded.ring ??= this.#ringOf(recorded, newest);
    put(recorded.ring, round, value);
  }

  /** A ring that holds the same value for each round up to `newest`. */
  #ringOf({ first, value }: RecordedSeries, newest: number): Ring {
    const slots = this.#slots;
    const ring = { values: new Float64Array(slots), rounds: new Float64Array(slots).fill(-1) };
    for (let round = Math.max(first, newest - slots + 1); round <= newest; round++) put(ring, round, value);
    return ring;
  }

  select(matchers: readonly Matcher[], fromMs: number, toMs: number): Series[] {
    const matches = testOf(matchers);
    return [...this.#lookup.all]
      .filter(({ labels }) => matches(labels))
      .map((recorded) => this.#read(recorded, fromMs, toMs))
      .filter(({ timesMs }) => timesMs.length > 0);
  }

  #read({ labels, ring, first, newest, value }: RecordedSeries, fromMs: number, toMs: number): Series {
    const times: number[] = [];
    const found: number[] = [];
    for (let round = Math.max(this.#rounds - this.#slots, 0); round < this.#rounds; round++) {
      const slot = round % this.#slots;
      const timeMs = this.#timesMs[slot] as number;
      const isThere = ring === null ? round >= first && round <= newest : ring.rounds[slot] === round;
      if (!isThere || timeMs < fromMs || timeMs > toMs) continue;
      times.push(timeMs);
      found.push(ring === null ? value : (ring.values[slot] as number));
    }
    return { labels, timesMs: Float64Array.from(times), values: Float64Array.from(found) };
  }
}

function put({ values, rounds }: Ring, round: number, value: number): void {
  const slot = round % values.length;
  values[slot] = value;
  rounds[slot] = round;
}

function* ofBucketsAndNode(samples: Iterable<FlatSample>): Generator<FlatSample> {
  for (const sample of samples) {
    const { le, collection } = sample.labels;
    if (le === undefined && collection === undefined) yield sample;
  }
}
