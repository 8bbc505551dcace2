// Random input for tests, from a seed that is printed with the test: set DIVAN_SEED to repeat a run.
import type { TestContext } from 'node:test';
import { printedSeed } from './seed.ts';

/** A number from 0 up to, not including, `below`. */
export type Random = (below: number) => number;

export function aSeed(t: TestContext): Random {
  return randomFrom(printedSeed(t));
}

/** The same numbers for the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export function randomBytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random(256)));
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const words = ['a', 'b', 'c', 'name', 'é€', '😀', 'with space', 'q"uote', 'back\\slash', 'new\nline'];

export function randomJson(random: Random, depth: number): Json {
  const kind = random(depth > 0 ? 10 : 7);
  if (kind < 2) return random(2000) - 1000;
  if (kind === 2) return (random(100000) - 50000) / 128;
  if (kind < 5) return words[random(words.length)] as string;
  if (kind === 5) return null;
  if (kind === 6) return random(2) === 0;
  const length = random(5);
  if (kind === 7) return Array.from({ length }, () => randomJson(random, depth - 1));
  const object: { [key: string]: Json } = {};
  for (let i = 0; i < length; i++)
    object[words[random(words.length)] as string] = randomJson(random, depth - 1);
  return object;
}
