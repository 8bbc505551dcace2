// Up to where a vbucket has whole snapshots. Of the snapshot that a copy is receiving it may lack versions which later ones replaced: nothing of
// it is shown, and other copies may have what it lacks.
import type { VbucketColumns } from './columns.ts';

type Snapshots = Pick<VbucketColumns, 'highSeqno' | 'snapEnd' | 'snapStart'>;

export const wholeSeqno = ({ highSeqno, snapEnd, snapStart }: Snapshots, vb: number): number =>
  wholeUpTo(highSeqno[vb] as number, snapStart[vb] as number, snapEnd[vb] as number);

/** The seqno up to which changes that end at `high` are whole, if the last of them belong to this snapshot. */
export const wholeUpTo = (high: number, snapStart: number, snapEnd: number): number =>
  snapEnd <= high ? high : Math.max(0, Math.min(high, snapStart - 1));

/** The rest of its snapshot will not come: what the vbucket has is a state of its own history, which begins where the snapshot did. */
export function endSnapshot({ highSeqno, snapEnd }: Snapshots, vb: number): void {
  snapEnd[vb] = Math.min(snapEnd[vb] as number, highSeqno[vb] as number);
}
