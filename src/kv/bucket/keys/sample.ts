// Chooses a sample of sorted keys: those with the smallest hashes under a seed, so that the same seed gives the same sample.
import { hashKey } from '../../memory/hash.ts';
import type { Steps } from './sliced.ts';

export interface Sampling {
  seed: number;
  samples: number;
}

const keysPerStep = 1_024;
/** At least that of a key with the id of its collection. */
const keyBytesMax = 512;
/** Keys are counted by the first bits of their hashes; only those at the limit are sorted. */
const classBits = 12;
const classOf = (hash: number): number => hash >>> (32 - classBits);

export function* sampleInSteps(keys: readonly string[], { seed, samples }: Sampling): Steps<string[]> {
  const bytes = Buffer.alloc(keyBytesMax);
  const hashes = new Uint32Array(keys.length);
  const counts = new Uint32Array(1 << classBits);
  for (const [i, key] of keys.entries()) {
    hashes[i] = hashKey(bytes, 0, bytes.write(key, 'latin1'), (seed % 2 ** 32) | 0);
    (counts[classOf(hashes[i] as number)] as number)++;
    if (i % keysPerStep === keysPerStep - 1) yield;
  }
  let left = samples;
  let last = 0;
  while (last < counts.length && (counts[last] as number) <= left) left -= counts[last++] as number;
  const largest = largestOfClass(hashes, last, left);
  const chosen: string[] = [];
  for (const [i, key] of keys.entries()) {
    const hash = hashes[i] as number;
    if (classOf(hash) < last) chosen.push(key);
    else if (left > 0 && classOf(hash) === last && hash <= largest) {
      chosen.push(key);
      left--;
    }
    if (i % keysPerStep === keysPerStep - 1) yield;
  }
  return chosen;
}

/** The `count`th smallest hash of a class. */
function largestOfClass(hashes: Uint32Array, ofClass: number, count: number): number {
  const own = hashes.filter((hash) => classOf(hash) === ofClass).sort();
  return count === 0 ? -1 : (own[count - 1] ?? -1);
}
