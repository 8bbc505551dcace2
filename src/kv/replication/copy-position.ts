// The position of a copy in a vbucket, which the active requests before it feeds the copy.
import type { Bucket } from '../bucket/bucket.ts';
import type { CopyPosition } from './frames.ts';

export const positionOf = (bucket: Bucket, vb: number): CopyPosition => ({
  vb,
  high: bucket.columns.highSeqno[vb] as number,
  persisted: bucket.columns.persistedSeqno[vb] as number,
  failover: Buffer.from(bucket.history(vb)).toString('base64'),
  ...incompleteSnapshot(bucket, vb),
});

/** The end of the snapshot that the copy is receiving; nothing where it has received all of it. */
function incompleteSnapshot(
  { columns: { highSeqno, snapEnd } }: Bucket,
  vb: number,
): Pick<CopyPosition, 'snapEnd'> {
  const end = snapEnd[vb] as number;
  return end > (highSeqno[vb] as number) ? { snapEnd: end } : {};
}
