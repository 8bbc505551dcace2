// Keys of the documents that record attempts (active transaction records). Client libraries share one key per vbucket: the first of
// these names, by the hexadecimal number after `#`, that hashes to the vbucket.
import { vbucketCount, vbucketOf } from '#client/document-key.ts';

const cache = new Map<number, string>();

/** An attempt is recorded in the vbucket of the first document that it changes. */
export const atrIdFor = (key: string): string => atrIdOf(vbucketOf(key));

export const allAtrIds = (): string[] => Array.from({ length: vbucketCount }, (_, vb) => atrIdOf(vb));

export function atrIdOf(vb: number): string {
  const cached = cache.get(vb);
  if (cached !== undefined) return cached;
  for (let number = 0; ; number++) {
    const id = `_txn:atr-${vb}-#${number.toString(16)}`;
    if (vbucketOf(id) !== vb) continue;
    cache.set(vb, id);
    return id;
  }
}
