// Finds the record of a sample's series. Sources report the same series in the same order every time, so the position of the
// previous round usually matches and no hash lookup is needed.
import { labelsKey } from '../query/combine.ts';
import type { FlatSample, Labels } from '../sample.ts';

/** The series at one position of the previous round. */
interface Position<T> {
  readonly labels: Labels;
  readonly name: string;
  readonly found: T;
}

export class SeriesLookup<T> {
  readonly #limit: number;
  readonly #make: (labels: Labels) => T;
  readonly #byKey = new Map<string, T>();
  #last: Position<T>[] = [];
  /** How many samples were dropped because the series limit was reached. */
  refused = 0;

  constructor(limit: number, make: (labels: Labels) => T) {
    this.#limit = limit;
    this.#make = make;
  }

  get all(): Iterable<T> {
    return this.#byKey.values();
  }

  /** Calls `visit` with the record and the value of each sample, except those beyond the series limit. */
  each(samples: Iterable<FlatSample>, visit: (found: T, value: number) => void): void {
    const positions: Position<T>[] = [];
    for (const sample of samples) {
      const position = this.#positionOf(sample, this.#last[positions.length]);
      if (position === null) continue;
      positions.push(position);
      visit(position.found, sample.value);
    }
    this.#last = positions;
  }

  /** Null if the series limit is reached. */
  findOrAdd(labels: Labels): T | null {
    const key = labelsKey(labels);
    const existing = this.#byKey.get(key);
    if (existing !== undefined) return existing;
    if (this.#byKey.size >= this.#limit) {
      this.refused++;
      return null;
    }
    const created = this.#make(labels);
    this.#byKey.set(key, created);
    return created;
  }

  discard(isGone: (found: T) => boolean): void {
    let discarded = 0;
    for (const [key, found] of this.#byKey) if (isGone(found) && this.#byKey.delete(key)) discarded++;
    if (discarded > 0) this.#last = [];
  }

  #positionOf({ name, labels }: FlatSample, before: Position<T> | undefined): Position<T> | null {
    if (before && before.name === name && isSame(before.labels, labels)) return before;
    const found = this.findOrAdd({ __name__: name, ...labels });
    return found === null ? null : { labels, name, found };
  }
}

function isSame(a: Labels, b: Labels): boolean {
  if (a === b) return true;
  let surplus = 0;
  for (const name in a) {
    if (a[name] !== b[name]) return false;
    surplus++;
  }
  for (const _ in b) surplus--;
  return surplus === 0;
}
