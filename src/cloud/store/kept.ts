// What was found out in a moment of the store, for all who ask in the same one. A moment that is over takes all of it along, so
// that nothing here is ever out of date.
import type { Moment } from './state.ts';

export interface KeptOptions<V> {
  /** How many values of one moment; those that came first go first. */
  readonly entriesMax: number;
  /** Of all values of one moment; a value that takes more than a tenth is not kept. */
  readonly bytesMax: number;
  readonly bytesOf: (value: V) => number;
}

/** Beside the value itself, roughly. */
const entryBytes = 200;

interface OfMoment<V> {
  readonly values: Map<string, V>;
  readonly underWay: Map<string, Promise<V>>;
  bytes: number;
}

export class Kept<V> {
  private readonly options: KeptOptions<V>;
  private readonly moments = new WeakMap<Moment, OfMoment<V>>();

  constructor(options: KeptOptions<V>) {
    this.options = options;
  }

  find(moment: Moment, key: string): V | undefined {
    return this.moments.get(moment)?.values.get(key);
  }

  /** Finds a value out once for all who ask meanwhile. A failure is theirs and is not kept. */
  async of(moment: Moment, key: string, findOut: () => Promise<V>): Promise<V> {
    const { values, underWay } = this.in(moment);
    const known = values.get(key);
    if (known !== undefined) return known;
    const others = underWay.get(key);
    if (others !== undefined) return others;
    const own = findOut();
    underWay.set(key, own);
    try {
      const value = await own;
      this.keep(moment, key, value);
      return value;
    } finally {
      underWay.delete(key);
    }
  }

  private in(moment: Moment): OfMoment<V> {
    const known = this.moments.get(moment);
    if (known !== undefined) return known;
    const made: OfMoment<V> = { values: new Map(), underWay: new Map(), bytes: 0 };
    this.moments.set(moment, made);
    return made;
  }

  private keep(moment: Moment, key: string, value: V): void {
    const { entriesMax, bytesMax } = this.options;
    const bytes = this.bytesOf(key, value);
    if (bytes > bytesMax / 10) return;
    const all = this.in(moment);
    all.values.set(key, value);
    all.bytes += bytes;
    for (const [oldest, its] of all.values) {
      if (all.values.size <= entriesMax && all.bytes <= bytesMax) return;
      all.values.delete(oldest);
      all.bytes -= this.bytesOf(oldest, its);
    }
  }

  private bytesOf(key: string, value: V): number {
    return key.length + this.options.bytesOf(value) + entryBytes;
  }
}
