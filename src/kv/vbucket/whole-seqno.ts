// Up to where a vbucket has whole snapshots. Of the snapshot that a copy is receiving it may lack versions which later ones replaced: nothing of
// it is shown, and other copies may have what it lacks.
import type { VbucketColumns } from './columns.ts';

type Snapshots = Pick<VbucketColumns, 'highSeqno' | 'snapEnd' | 'snapStart'>;

export function wholeSeqno({ highSeqno, snapEnd, snapStart }: Snapshots, vb: number): number {
  const high = highSeqno[vb] as number;
  if ((snapEnd[vb] as number) <= high) return high;
  return Math.max(0, Math.min(high, (snapStart[vb] as number) - 1));
}

/** The rest of its snapshot will not come: what the vbucket has is a state of its own history, which begins where the snapshot did. */
export function endSnapshot({ highSeqno, snapEnd }: Snapshots, vb: number): void {
  snapEnd[vb] = Math.min(snapEnd[vb] as number, highSeqno[vb] as number);
}
