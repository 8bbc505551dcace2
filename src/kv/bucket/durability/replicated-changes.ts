// Which vbuckets of a bucket have changes that are in the memory of another node, too.
import { VbucketState } from '../../data/vbucket-state.ts';
import type { VbucketColumns } from '../../vbucket/columns.ts';
import type { VbucketProgress } from './progress.ts';

export class ReplicatedChanges {
  private readonly columns: VbucketColumns;
  private readonly progress: Pick<VbucketProgress, 'isReceivedByOthers'>;
  /** By vbucket: its high seqno at the last check. */
  private readonly checkedSeqnos: Float64Array;
  private readonly replicated: Uint8Array;

  constructor(columns: VbucketColumns, progress: Pick<VbucketProgress, 'isReceivedByOthers'>) {
    this.columns = columns;
    this.progress = progress;
    this.checkedSeqnos = new Float64Array(columns.count);
    this.replicated = new Uint8Array(columns.count);
  }

  /**
   * Checks vbuckets when their changes are due. A member that has still not received the changes that were there at the last check may be down:
   * then only the memory of this node has these changes.
   */
  check(vbs: readonly number[]): void {
    const { checkedSeqnos, columns, progress, replicated } = this;
    for (const vb of vbs) {
      const isReplica = columns.state[vb] === VbucketState.replica;
      const isReceived = progress.isReceivedByOthers(vb, checkedSeqnos[vb] as number);
      replicated[vb] = isReplica || isReceived ? 1 : 0;
      checkedSeqnos[vb] = columns.highSeqno[vb] as number;
    }
  }

  /** The answer is that of the last check. */
  has(vb: number): boolean {
    return this.replicated[vb] === 1;
  }
}
