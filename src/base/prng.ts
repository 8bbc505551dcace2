// A seeded generator of numbers for tests and simulations (mulberry32). Never for secrets.

export interface Prng {
  /** A number from 0 to below 1. */
  next(): number;
  /** An integer from 0 to below `limit`. */
  below(limit: number): number;
  pick<T>(values: readonly T[]): T;
  bytes(count: number): Buffer;
}

export function prng(seed: number): Prng {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: <T>(values: readonly T[]) => values[below(values.length)] as T,
    bytes: (count) => Buffer.from(Array.from({ length: count }, () => below(256))),
  };
}
