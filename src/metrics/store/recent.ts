// The last minutes at one sample per second: a ring buffer of numbers per series, in memory only. Series of collections and of
// histogram bounds are excluded: there may be very many, and no view shows them by the second.
import { testOf } from '../query/match.ts';
import type { FlatSample, Labels, Matcher, Series } from '../sample.ts';
import { Places } from './places.ts';

interface Ring {
  readonly labels: Labels;
  readonly values: Float64Array;
  /** The timestamp of each slot. */
  readonly moments: Float64Array;
  newest: number;
}

export class Recent {
  readonly #slots: number;
  readonly #places: Places<Ring>;
  readonly #timesMs: Float64Array;
  #moments = 0;
  #newestMs = Number.NEGATIVE_INFINITY;

  constructor({ slots, seriesLimit }: { slots: number; seriesLimit: number }) {
    this.#slots = slots;
    this.#timesMs = new Float64Array(slots);
    this.#places = new Places(seriesLimit, (labels) => ({
      labels,
      values: new Float64Array(slots),
      moments: new Float64Array(slots).fill(-1),
      newest: -1,
    }));
  }

  append(timeMs: number, samples: Iterable<FlatSample>): void {
    // After the clock was set back the order of samples is unknown: start over.
    if (timeMs < this.#newestMs) this.#places.forget(() => true);
    this.#newestMs = timeMs;
    const moment = this.#moments++;
    const slot = moment % this.#slots;
    // Once per round, remove the series of deleted buckets and collections.
    if (slot === 0) this.#places.forget(({ newest }) => newest < moment - this.#slots);
    this.#timesMs[slot] = timeMs;
    this.#places.each(ofBucketsAndNode(samples), (ring, value) => {
      ring.values[slot] = value;
      ring.moments[slot] = moment;
      ring.newest = moment;
    });
  }

  select(matchers: readonly Matcher[], fromMs: number, toMs: number): Series[] {
    const matches = testOf(matchers);
    return [...this.#places.all]
      .filter(({ labels }) => matches(labels))
      .map((ring) => this.#read(ring, fromMs, toMs))
      .filter(({ timesMs }) => timesMs.length > 0);
  }

  #read({ labels, values, moments }: Ring, fromMs: number, toMs: number): Series {
    const times: number[] = [];
    const found: number[] = [];
    for (let moment = Math.max(this.#moments - this.#slots, 0); moment < this.#moments; moment++) {
      const slot = moment % this.#slots;
      const timeMs = this.#timesMs[slot] as number;
      if (moments[slot] !== moment || timeMs < fromMs || timeMs > toMs) continue;
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
