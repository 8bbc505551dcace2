// 31-bit hash of a key (MurmurHash3, public domain), seeded per bucket so that colliding keys cannot be precomputed.
// With one more bit, V8 would allocate half of the hashes on the heap.

export function hashKey(bytes: Buffer, start: number, end: number, seed: number): number {
  let hash = seed;
  let at = start;
  for (const last = end - 3; at < last; at += 4) {
    const word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    hash = mix(hash, word);
  }
  let tail = 0;
  for (; at < end; at++) tail = (tail << 8) | (bytes[at] as number);
  return avalanche(mix(hash, tail) ^ (end - start));
}

function mix(hash: number, word: number): number {
  const scrambled = Math.imul(word, 0xcc9e2d51);
  const turned = Math.imul((scrambled << 15) | (scrambled >>> 17), 0x1b873593);
  const joined = hash ^ turned;
  return (Math.imul((joined << 13) | (joined >>> 19), 5) + 0xe6546b64) | 0;
}

function avalanche(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) & 0x7fffffff;
}
