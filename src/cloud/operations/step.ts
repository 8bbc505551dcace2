// An operation is a list of named steps. Each is safe to repeat: a worker that ended in the middle of one is followed by
// another that begins it again.
import type { ClusterRow } from '../store/tables.ts';

export interface Step {
  readonly name: string;
  /** Throws what is in the way; the step is tried again until the operation's deadline. */
  run(cluster: ClusterRow): Promise<void>;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** The deadline passed: what the cluster becomes. */
  failed(cluster: ClusterRow): Promise<void>;
}
