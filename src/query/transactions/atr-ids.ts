// Keys of the records that attempts are noted in. Client libraries share one key for each vbucket: the first of these names, by the
// number behind `#` in hexadecimal, that lies in the vbucket.
import { vbucketCount, vbucketOf } from '#client/document-key.ts';

const known = new Map<number, string>();

/** Attempts are noted beside the first document that they change: in its vbucket. */
export const atrIdFor = (key: string): string => atrIdOf(vbucketOf(key));

export const allAtrIds = (): string[] => Array.from({ length: vbucketCount }, (_, vb) => atrIdOf(vb));

export function atrIdOf(vb: number): string {
  const kept = known.get(vb);
  if (kept !== undefined) return kept;
  for (let number = 0; ; number++) {
    const id = `_txn:atr-${vb}-#${number.toString(16)}`;
    if (vbucketOf(id) !== vb) continue;
    known.set(vb, id);
    return id;
  }
}
