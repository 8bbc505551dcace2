// Keeps the random values, UUIDs and times that expressions of a row got: a row that is evaluated again gets the same ones, so that it makes the same
// calls.
import type { Value } from '../values/value.ts';

export type DrawnKind = 'random' | 'uuid' | 'clock';

/** The most values of one kind that are kept for a row; further ones differ when it is evaluated again. */
const valuesMax = 100_000;

export class DrawnValues {
  /** By kind, since results of subqueries may let the row take another path. */
  readonly #kinds = new Map<DrawnKind, { readonly values: Value[]; next: number }>();

  /** The value that was given here before, or a new one. */
  next<T extends number | string>(kind: DrawnKind, draw: () => T): T {
    let drawn = this.#kinds.get(kind);
    if (!drawn) this.#kinds.set(kind, (drawn = { values: [], next: 0 }));
    const { values } = drawn;
    if (drawn.next < values.length) return values[drawn.next++] as T;
    const value = draw();
    if (values.length < valuesMax) drawn.next = values.push(value);
    return value;
  }

  /** Whether this evaluation of the row has got a value. */
  get isUsed(): boolean {
    return [...this.#kinds.values()].some(({ next }) => next > 0);
  }

  /** Call before the same row is evaluated again. */
  rewind(): void {
    for (const drawn of this.#kinds.values()) drawn.next = 0;
  }

  /** Call before the next row. */
  clear(): void {
    for (const drawn of this.#kinds.values()) {
      drawn.next = 0;
      drawn.values.length = 0;
    }
  }
}
