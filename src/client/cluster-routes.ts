// Which node serves which vbucket of a bucket, by the configuration of the cluster. The owner updates it; clients look up the node for
// each request.
import { vbucketCount } from './document-key.ts';
import type { InterNodeTls } from './wire-address.ts';

/** Where a node is reached by the other nodes of its cluster. */
export interface ClusterNode {
  readonly node: string;
  readonly host: string;
  /** The node's port for replication, where it also serves the data port's commands to nodes. */
  readonly port: number;
}

/** Plain data. Each state replaces the last. */
export interface ClusterLayout {
  /** Id of this node. */
  readonly self: string;
  readonly tls: InterNodeTls;
  /** The other nodes. */
  readonly nodes: readonly ClusterNode[];
  /** By bucket, the active node of each shard: the vbuckets that have its number as remainder modulo the number of shards. */
  readonly actives: Readonly<Record<string, readonly (string | null)[]>>;
}

export class ClusterRoutes {
  /** Incremented by every change. */
  revision = 0;
  private state: ClusterLayout;
  private readonly listeners = new Set<() => void>();

  constructor(state: ClusterLayout) {
    this.state = state;
  }

  get self(): string {
    return this.state.self;
  }

  get tls(): InterNodeTls {
    return this.state.tls;
  }

  set(state: ClusterLayout): void {
    this.state = state;
    this.revision++;
    for (const listener of [...this.listeners]) listener();
  }

  node(id: string): ClusterNode | undefined {
    return this.state.nodes.find(({ node }) => node === id);
  }

  /** Null: no node serves it at the moment. Buckets without a map are on this node. */
  activeOf(bucket: string, vb: number): string | null {
    const shards = this.state.actives[bucket];
    if (shards === undefined || shards.length === 0) return this.state.self;
    return shards[vb % shards.length] ?? null;
  }

  /** Whether any vbucket of the bucket is on the node. */
  isServing(node: string, bucket: string): boolean {
    const shards = this.state.actives[bucket];
    return shards === undefined || shards.length === 0 ? node === this.state.self : shards.includes(node);
  }

  /** The vbuckets of each node that serves any; under null those that no node serves. */
  vbuckets(bucket: string): Map<string | null, number[]> {
    const byNode = new Map<string | null, number[]>();
    for (let vb = 0; vb < vbucketCount; vb++) {
      const node = this.activeOf(bucket, vb);
      const vbuckets = byNode.get(node);
      if (vbuckets === undefined) byNode.set(node, [vb]);
      else vbuckets.push(vb);
    }
    return byNode;
  }

  onChange(listener: () => void): { stop(): void } {
    this.listeners.add(listener);
    return { stop: () => void this.listeners.delete(listener) };
  }
}

/** Silence after which a connection to another node is closed, and the time to connect: a node that hangs must not delay statements. */
const limits = { timeoutMs: 15_000, connectTimeoutMs: 3_000 } as const;

/** The address of another node, undefined for a node that is not in the cluster. */
export function addressOfNode(routes: ClusterRoutes, id: string) {
  const node = routes.node(id);
  return node && { host: node.host, port: node.port, ...limits, node: { id, tls: routes.tls } };
}
