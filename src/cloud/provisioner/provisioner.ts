// The interface through which the cloud runs nodes. The one adapter runs them as processes of this machine.

/** Standard ports, or free ones. */
export interface NodePorts {
  readonly rest: number;
  readonly restTls: number;
  readonly kv: number;
  readonly kvTls: number;
  readonly capi: number;
  readonly capiTls: number;
  readonly dist: number;
  readonly distTls: number;
  readonly replication: number;
  /** Absent in placements of nodes of version 0.1.0, which have no such services. */
  readonly query?: number;
  readonly queryTls?: number;
  readonly index?: number;
  readonly indexTls?: number;
}

export interface Placement {
  readonly address: string;
  readonly ports: NodePorts;
}

export interface NodeSpec extends Placement {
  readonly id: string;
  readonly clusterId: string;
  readonly memoryMb: number;
  /** As requested: `data`, `index`, `query`. */
  readonly services: readonly string[];
  readonly administrator: { readonly username: string; readonly password: string };
}

/** Services of requests as nodes name them. */
export const nodeServiceNames = (services: readonly string[]): string[] =>
  services.map((service) => ({ data: 'kv', query: 'n1ql' })[service] ?? service);

/** Another program listens on the node's address: the node needs another one. */
export class AddressInUseError extends Error {
  override readonly name = 'AddressInUseError';
}

export interface Provisioner {
  /** Chooses a free address (and ports) outside `occupied`; the caller stores it before `start`. */
  place(occupied: readonly Placement[]): Promise<Placement>;
  /**
   * Resolves when the node is ready. A running node is left alone; a node that ends later is restarted. Rejects at once when `cancellation`
   * aborts; `remove` then cleans up. Throws AddressInUseError.
   */
  start(node: NodeSpec, cancellation: AbortSignal): Promise<void>;
  /** Starts a node that was ready earlier and keeps it running, with retries; resolves after the first attempt. */
  resume(node: NodeSpec): Promise<void>;
  /** Stops the node and deletes its data; also resolves if there was none. */
  remove(nodeId: string): Promise<void>;
  /** Why the node does not run, as a sentence for the operator; null while it runs, and for nodes of other homes. */
  downReason(nodeId: string): string | null;
  /** All nodes of this cloud that have data, running or not. */
  existingNodes(): Promise<readonly { readonly id: string; readonly clusterId: string }[]>;
  /** Stops the nodes, or leaves them to the next process; the adapter decides. */
  close(): Promise<void>;
}
