// An operation is a list of named steps. Each step is idempotent: after a worker was killed in the middle of a step, another one repeats it.
import type { ClusterRow, Store } from '../store/tables.ts';

export interface Step {
  readonly name: string;
  /** Throws if the step cannot be done yet; the worker repeats it until the operation's deadline. `cancellation` aborts the step. */
  run(cluster: ClusterRow, cancellation: AbortSignal): Promise<void>;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** The step to which a new process returns from a later one, because its effect may have ended with the old process. */
  readonly resumeAt?: string;
  /** Called after the deadline, in the transaction that ends the operation: sets the state of the cluster. */
  failed(transaction: Store, clusterId: string): Promise<void>;
}

/** Undefined for a kind that only a newer version has. */
export const planOf = (plans: Readonly<Record<string, Plan>>, kind: string): Plan | undefined =>
  Object.hasOwn(plans, kind) ? plans[kind] : undefined;
