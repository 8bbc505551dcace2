// Chooses a sample of sorted keys: those with the smallest hashes under a seed, so that the same seed gives the same sample.

import type { WorkSteps } from '#base/steps.ts';
import type { PackedKeys } from './packed-keys.ts';

export interface SamplingRequest {
  seed: number;
  samples: number;
}

const keysPerStep = 1_024;
/** Keys are counted in bins by the first bits of their hashes; only the bin at the limit is sorted. */
const binBits = 12;
const binOf = (hash: number): number => hash >>> (32 - binBits);

/** The places of the chosen keys, in the order of `places`. */
export function* sampleInSteps(
  packed: PackedKeys,
  places: Uint32Array,
  { seed, samples }: SamplingRequest,
): WorkSteps<Uint32Array> {
  const hashes = new Uint32Array(places.length);
  const counts = new Uint32Array(1 << binBits);
  for (let i = 0; i < places.length; i++) {
    hashes[i] = packed.hash(places[i] as number, (seed % 2 ** 32) | 0);
    (counts[binOf(hashes[i] as number)] as number)++;
    if (i % keysPerStep === keysPerStep - 1) yield;
  }
  let left = samples;
  let last = 0;
  while (last < counts.length && (counts[last] as number) <= left) left -= counts[last++] as number;
  const largest = nthSmallestOfBin(hashes, last, left);
  const chosen = new Uint32Array(Math.min(samples, places.length));
  let length = 0;
  for (let i = 0; i < places.length; i++) {
    const hash = hashes[i] as number;
    const isOfLast = left > 0 && binOf(hash) === last && hash <= largest;
    if (isOfLast) left--;
    if (isOfLast || binOf(hash) < last) chosen[length++] = places[i] as number;
    if (i % keysPerStep === keysPerStep - 1) yield;
  }
  return chosen.subarray(0, length);
}

/** The `count`th smallest hash of a bin. */
function nthSmallestOfBin(hashes: Uint32Array, bin: number, count: number): number {
  const ofThisBin = hashes.filter((hash) => binOf(hash) === bin).sort();
  return count === 0 ? -1 : (ofThisBin[count - 1] ?? -1);
}
