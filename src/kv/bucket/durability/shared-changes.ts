// Which vbuckets of a bucket have changes that are in the memory of another node, too.
import { VbucketState } from '../../data/vbucket-state.ts';
import type { VbucketColumns } from '../../vbucket/columns.ts';
import type { VbucketProgress } from './progress.ts';

export class SharedChanges {
  private readonly columns: VbucketColumns;
  private readonly progress: Pick<VbucketProgress, 'isReceivedByOthers'>;
  /** By vbucket: its high seqno when the flusher looked last. */
  private readonly seen: Float64Array;
  private readonly shared: Uint8Array;

  constructor(columns: VbucketColumns, progress: Pick<VbucketProgress, 'isReceivedByOthers'>) {
    this.columns = columns;
    this.progress = progress;
    this.seen = new Float64Array(columns.count);
    this.shared = new Uint8Array(columns.count);
  }

  /**
   * Looks at vbuckets when their changes are due. A member that has not received until now what there was at the look before may be dead: then
   * only the memory of this node has it.
   */
  look(vbs: readonly number[]): void {
    const { columns, progress, seen, shared } = this;
    for (const vb of vbs) {
      const isReplica = columns.state[vb] === VbucketState.replica;
      shared[vb] = isReplica || progress.isReceivedByOthers(vb, seen[vb] as number) ? 1 : 0;
      seen[vb] = columns.highSeqno[vb] as number;
    }
  }

  /** The answer is that of the last check. */
  has(vb: number): boolean {
    return this.shared[vb] === 1;
  }
}
