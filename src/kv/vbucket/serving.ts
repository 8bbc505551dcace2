// Which requests a node answers for a vbucket: depends on the vbucket's state and on the time until which this node may serve it.
import { Status } from '#wire/status.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { VbucketColumns } from './columns.ts';
import type { Now } from './now.ts';

/** Whether this node assigns the vbucket's seqnos, to changes of clients and to its own, such as expiry. */
export const makesSeqnos = ({ isHandingOver, state }: VbucketColumns, vb: number): boolean =>
  state[vb] === VbucketState.active && isHandingOver[vb] === 0;

/** Success if the vbucket has this state and the node may serve it now; else the error status for the request. */
export function checkState(columns: VbucketColumns, vb: number, now: Now, state: VbucketState): Status {
  if (columns.state[vb] !== state) return Status.notMyVbucket;
  return now.monotonicMs < (columns.servedUntilMs[vb] as number) ? Status.success : Status.temporaryFailure;
}

/** Success if the vbucket is a copy that is in sync; else the error status for the request. */
export function checkCopy(columns: VbucketColumns, vb: number, now: Now): Status {
  const status = checkState(columns, vb, now, VbucketState.replica);
  return status === Status.success && columns.isOutOfSync[vb] !== 0 ? Status.temporaryFailure : status;
}

/** `dead` where there is no such vbucket, and while this node may not serve it. */
export function servedState(columns: VbucketColumns, vb: number, now: Now): VbucketState {
  const isServed = now.monotonicMs < (columns.servedUntilMs[vb] ?? 0);
  return isServed ? (columns.state[vb] as VbucketState) : VbucketState.dead;
}
