// Where nodes run. One adapter keeps them as processes of this machine; the interface holds nothing that only processes have.

/** Standard ports, or those that were free. */
export interface NodePorts {
  readonly rest: number;
  readonly restTls: number;
  readonly kv: number;
  readonly kvTls: number;
  readonly capi: number;
  readonly capiTls: number;
  readonly dist: number;
  readonly distTls: number;
}

export interface Placement {
  readonly address: string;
  readonly ports: NodePorts;
}

export interface NodeSpec extends Placement {
  readonly id: string;
  readonly clusterId: string;
  readonly memoryMb: number;
  readonly administrator: { readonly username: string; readonly password: string };
}

/** Something else listens by now where the node was to: it needs another place. */
export class PlaceTakenError extends Error {
  override readonly name = 'PlaceTakenError';
}

export interface Provisioner {
  /** An address (and ports) that nothing uses and that is none of `taken`; kept by the caller before `start`. */
  place(taken: readonly Placement[]): Promise<Placement>;
  /**
   * Resolves when the node is ready. A node that runs already is left as it is; one that ends later is started again.
   * Rejects at once when `given up`; `remove` then ends what was begun. Throws PlaceTakenError.
   */
  start(node: NodeSpec, givenUp: AbortSignal): Promise<void>;
  /** A node that was ready before runs from now on, however often that has to be tried; resolves after the first try. */
  resume(node: NodeSpec): Promise<void>;
  /** Ends the node and deletes all it kept; resolves when both are done, also when there was nothing. */
  remove(nodeId: string): Promise<void>;
  /** Why the node does not run, in words for whoever operates it; null while it does, and of nodes that are kept elsewhere. */
  trouble(nodeId: string): string | null;
  /** Every node of this cloud that something is kept of, whether it runs or not. */
  kept(): Promise<readonly { readonly id: string; readonly clusterId: string }[]>;
  /** Ends what runs here, or leaves it to the next process, as the adapter does things. */
  close(): Promise<void>;
}
