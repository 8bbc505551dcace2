// The seqno up to which a vbucket has whole snapshots. A copy may lack versions of the snapshot that it is receiving, because later versions
// replaced them. Clients see nothing of such a snapshot, since other copies may have the versions that this one lacks.
import type { VbucketColumns } from './columns.ts';

type Snapshots = Pick<VbucketColumns, 'highSeqno' | 'snapEnd' | 'snapStart'>;

export const wholeSeqno = ({ highSeqno, snapEnd, snapStart }: Snapshots, vb: number): number =>
  wholeUpTo(highSeqno[vb] as number, snapStart[vb] as number, snapEnd[vb] as number);

/** The seqno up to which changes that end at `high` are whole, if the last of them belong to this snapshot. */
export const wholeUpTo = (high: number, snapStart: number, snapEnd: number): number =>
  snapEnd <= high ? high : Math.max(0, Math.min(high, snapStart - 1));

/** Ends the snapshot of a vbucket that will not receive the rest: the changes so far begin a history of their own, from the start of the snapshot. */
export function endSnapshot({ highSeqno, snapEnd }: Snapshots, vb: number): void {
  snapEnd[vb] = Math.min(snapEnd[vb] as number, highSeqno[vb] as number);
}
