// What a node does with a vbucket by its state, and by the time until when this node may serve it.
import { Status } from '#wire/status.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { Now } from './now.ts';
import type { VbucketRows } from './rows.ts';

/** Whether this node makes the vbucket's seqnos: for what clients write, and for what it does by itself, such as expiry. */
export const makesSeqnos = ({ state }: VbucketRows, row: number): boolean =>
  state[row] === VbucketState.active;

/** Success where a request for the active vbucket is answered, else the status that answers it. */
export function activeRefusal(rows: VbucketRows, row: number, now: Now): Status {
  if (rows.state[row] !== VbucketState.active) return Status.notMyVbucket;
  return now.monotonicMs < (rows.servedUntilMs[row] as number) ? Status.success : Status.temporaryFailure;
}

/** The same for a request that only a replica answers. */
export function replicaRefusal(rows: VbucketRows, row: number, now: Now): Status {
  if (rows.state[row] !== VbucketState.replica) return Status.notMyVbucket;
  return now.monotonicMs < (rows.servedUntilMs[row] as number) ? Status.success : Status.temporaryFailure;
}

/** `dead` where there is no such vbucket, and while its documents cannot be read. */
export function servedState(rows: VbucketRows, row: number, now: Now): VbucketState {
  const isServed = now.monotonicMs < (rows.servedUntilMs[row] ?? 0);
  return isServed ? (rows.state[row] as VbucketState) : VbucketState.dead;
}
