// An operation is a list of named steps. Each is safe to repeat: a worker that ended in the middle of one is followed by
// another that begins it again.
import type { ClusterRow, Store } from '../store/tables.ts';

export interface Step {
  readonly name: string;
  /** Throws what is in the way; the step is tried again until the operation's deadline. `givenUp`: nobody needs it any more. */
  run(cluster: ClusterRow, givenUp: AbortSignal): Promise<void>;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** To which step a new process goes back from a later one: what that step began may have ended with the old process. */
  readonly backTo?: string;
  /** The deadline passed: what the cluster becomes, written in the transaction that ends the operation. */
  failed(transaction: Store, clusterId: string): Promise<void>;
}
