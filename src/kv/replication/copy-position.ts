// What an active and its copy tell each other about a vbucket before the active feeds the copy: the active its history, the copy its position.
import type { Bucket } from '../bucket/bucket.ts';
import { decodeLog, isContinued } from './branch.ts';
import type { ActiveHistory, CopyPosition, Open, VbucketHistory } from './frames.ts';

const vbucketHistory = (bucket: Bucket, vb: number): VbucketHistory => ({
  vb,
  high: bucket.changes.highSeqno(vb),
  failover: Buffer.from(bucket.history(vb)).toString('base64'),
});

export const activeHistory = (bucket: Bucket, vb: number): ActiveHistory => ({
  ...vbucketHistory(bucket, vb),
  purge: bucket.changes.purgeSeqno(vb),
});

export const positionOf = (bucket: Bucket, vb: number): CopyPosition => ({
  ...vbucketHistory(bucket, vb),
  persisted: bucket.columns.persistedSeqno[vb] as number,
  ...incompleteSnapshot(bucket, vb),
  ...knownPurge(bucket, vb),
});

/**
 * Copies of these vbuckets that have all changes of the active take its history now, not only with its next change. A copy that became
 * active before that change would not know the newest uuid, so clients that know it would have to begin their streams from nothing.
 * A copy that begins from nothing does not get the deletions whose tombstones the active has purged: once it is the active, it can continue
 * neither copies nor streams that lack them.
 */
export function adoptHistories(
  bucket: Bucket,
  vbs: readonly number[],
  histories: NonNullable<Open['rows']>,
): void {
  const { highSeqno, purgeSeqno, snapEnd } = bucket.columns;
  for (const { failover, high, purge = 0, vb } of histories) {
    if (!vbs.includes(vb)) continue;
    if (highSeqno[vb] === 0) purgeSeqno[vb] = Math.max(purgeSeqno[vb] as number, purge);
    if (highSeqno[vb] !== high) continue;
    const copy = { log: bucket.changes.failoverLog(vb), high, snapEnd: snapEnd[vb] as number };
    if (isContinued(copy, { log: decodeLog(failover), high }))
      bucket.applier.adoptHistory(vb, Buffer.from(failover, 'base64'));
  }
}

/** A copy that purges tombstones has them, so that its own purges are not above its position. */
function knownPurge({ columns }: Bucket, vb: number): Pick<CopyPosition, 'purge'> {
  const purge = columns.purgeSeqno[vb] as number;
  return purge > (columns.highSeqno[vb] as number) ? { purge } : {};
}

/** The end of the snapshot that the copy is receiving; nothing where it has received all of it. */
function incompleteSnapshot(
  { columns: { highSeqno, snapEnd } }: Bucket,
  vb: number,
): Pick<CopyPosition, 'snapEnd'> {
  const end = snapEnd[vb] as number;
  return end > (highSeqno[vb] as number) ? { snapEnd: end } : {};
}
