// The last minutes at one sample per second: a ring buffer of numbers per series, in memory only. Series of collections and of
// histogram bounds are excluded: there may be very many, and no view shows them by the second.
import { testOf } from '../query/match.ts';
import type { FlatSample, Labels, Matcher, Series } from '../sample.ts';
import { SeriesLookup } from './series-lookup.ts';

interface Ring {
  readonly labels: Labels;
  readonly values: Float64Array;
  /** The round in which each slot was written; -1: none. */
  readonly rounds: Float64Array;
  newest: number;
}

export class Recent {
  readonly #slots: number;
  readonly #lookup: SeriesLookup<Ring>;
  readonly #timesMs: Float64Array;
  #rounds = 0;
  #newestMs = Number.NEGATIVE_INFINITY;

  constructor({ slots, seriesMax }: { slots: number; seriesMax: number }) {
    this.#slots = slots;
    this.#timesMs = new Float64Array(slots);
    this.#lookup = new SeriesLookup(seriesMax, (labels) => ({
      labels,
      values: new Float64Array(slots),
      rounds: new Float64Array(slots).fill(-1),
      newest: -1,
    }));
  }

  append(timeMs: number, samples: Iterable<FlatSample>): void {
    // After the clock was set back the order of samples is unknown: start over.
    if (timeMs < this.#newestMs) this.#lookup.discard(() => true);
    this.#newestMs = timeMs;
    const round = this.#rounds++;
    const slot = round % this.#slots;
    // Once per pass through the ring, remove the series of deleted buckets and collections.
    if (slot === 0) this.#lookup.discard(({ newest }) => newest < round - this.#slots);
    this.#timesMs[slot] = timeMs;
    this.#lookup.each(ofBucketsAndNode(samples), (ring, value) => {
      ring.values[slot] = value;
      ring.rounds[slot] = round;
      ring.newest = round;
    });
  }

  select(matchers: readonly Matcher[], fromMs: number, toMs: number): Series[] {
    const matches = testOf(matchers);
    return [...this.#lookup.all]
      .filter(({ labels }) => matches(labels))
      .map((ring) => this.#read(ring, fromMs, toMs))
      .filter(({ timesMs }) => timesMs.length > 0);
  }

  #read({ labels, values, rounds }: Ring, fromMs: number, toMs: number): Series {
    const times: number[] = [];
    const found: number[] = [];
    for (let round = Math.max(this.#rounds - this.#slots, 0); round < this.#rounds; round++) {
      const slot = round % this.#slots;
      const timeMs = this.#timesMs[slot] as number;
      if (rounds[slot] !== round || timeMs < fromMs || timeMs > toMs) continue;
      times.push(timeMs);
      found.push(values[slot] as number);
    }
    return { labels, timesMs: Float64Array.from(times), values: Float64Array.from(found) };
  }
}

function* ofBucketsAndNode(samples: Iterable<FlatSample>): Generator<FlatSample> {
  for (const sample of samples) {
    const { le, collection } = sample.labels;
    if (le === undefined && collection === undefined) yield sample;
  }
}
