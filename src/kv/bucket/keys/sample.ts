// Chooses a sample of sorted keys: those with the smallest hashes under a seed, so that the same seed gives the same sample.
import type { PackedKeys } from './packed-keys.ts';
import type { Steps } from './sliced.ts';

export interface Sampling {
  seed: number;
  samples: number;
}

const keysPerStep = 1_024;
/** Keys are counted by the first bits of their hashes; only those at the limit are sorted. */
const classBits = 12;
const classOf = (hash: number): number => hash >>> (32 - classBits);

/** The places of the chosen keys, in the order of `places`. */
export function* sampleInSteps(
  packed: PackedKeys,
  places: Uint32Array,
  { seed, samples }: Sampling,
): Steps<Uint32Array> {
  const hashes = new Uint32Array(places.length);
  const counts = new Uint32Array(1 << classBits);
  for (let i = 0; i < places.length; i++) {
    hashes[i] = packed.hash(places[i] as number, (seed % 2 ** 32) | 0);
    (counts[classOf(hashes[i] as number)] as number)++;
    if (i % keysPerStep === keysPerStep - 1) yield;
  }
  let left = samples;
  let last = 0;
  while (last < counts.length && (counts[last] as number) <= left) left -= counts[last++] as number;
  const largest = largestOfClass(hashes, last, left);
  const chosen = new Uint32Array(Math.min(samples, places.length));
  let length = 0;
  for (let i = 0; i < places.length; i++) {
    const hash = hashes[i] as number;
    const isOfLast = left > 0 && classOf(hash) === last && hash <= largest;
    if (isOfLast) left--;
    if (isOfLast || classOf(hash) < last) chosen[length++] = places[i] as number;
    if (i % keysPerStep === keysPerStep - 1) yield;
  }
  return chosen.subarray(0, length);
}

/** The `count`th smallest hash of a class. */
function largestOfClass(hashes: Uint32Array, ofClass: number, count: number): number {
  const ofThisClass = hashes.filter((hash) => classOf(hash) === ofClass).sort();
  return count === 0 ? -1 : (ofThisClass[count - 1] ?? -1);
}
