// Which requests a node answers for a vbucket: depends on the vbucket's state and on the time until which this node may serve it.
import { Status } from '#wire/status.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { Now } from './now.ts';
import type { VbucketRows } from './rows.ts';

/** Whether this node assigns the vbucket's seqnos, to changes of clients and to its own, such as expiry. */
export const makesSeqnos = ({ handingOver, state }: VbucketRows, row: number): boolean =>
  state[row] === VbucketState.active && handingOver[row] === 0;

/** Success if the vbucket has this state and the node may serve it now; else the error status for the request. */
export function checkState(rows: VbucketRows, row: number, now: Now, state: VbucketState): Status {
  if (rows.state[row] !== state) return Status.notMyVbucket;
  return now.monotonicMs < (rows.servedUntilMs[row] as number) ? Status.success : Status.temporaryFailure;
}

/** Success if the vbucket is a copy that is in sync; else the error status for the request. */
export function checkCopy(rows: VbucketRows, row: number, now: Now): Status {
  const status = checkState(rows, row, now, VbucketState.replica);
  return status === Status.success && rows.outOfSync[row] !== 0 ? Status.temporaryFailure : status;
}

/** `dead` where there is no such vbucket, and while its documents cannot be read. */
export function servedState(rows: VbucketRows, row: number, now: Now): VbucketState {
  const isServed = now.monotonicMs < (rows.servedUntilMs[row] ?? 0);
  return isServed ? (rows.state[row] as VbucketState) : VbucketState.dead;
}
