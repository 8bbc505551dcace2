// The active that fed each copy of this node last. It may serve until what this node promised to it ends, connected or not.
import type { PeerConnections } from './peers.ts';

type Promises = Pick<PeerConnections, 'neededPromise' | 'promisedUntilMs'>;

export class EarlierActives {
  private readonly peers: Promises;
  /** By shard. */
  private readonly nodes = new Map<number, string>();
  /** By shard that this node is to serve: until when the earlier active may serve, which it has refused since then. */
  private readonly refusedUntilMs = new Map<number, number>();

  constructor(peers: Promises) {
    this.peers = peers;
  }

  fedBy(shard: number, node: string): void {
    this.nodes.set(shard, node);
    this.refusedUntilMs.delete(shard);
  }

  of(shard: number): string | undefined {
    return this.nodes.get(shard);
  }

  /**
   * The active takes no later answer of this node for a promise, because it received a higher epoch first: else one that keeps running, or
   * runs again, could not be replaced while its beats are answered. Returns the active to tell so; null: it was, or there is none.
   */
  refuse(shard: number): string | null {
    const node = this.nodes.get(shard);
    if (node === undefined || this.refusedUntilMs.has(shard)) return null;
    this.refusedUntilMs.set(shard, this.peers.promisedUntilMs(node));
    return node;
  }

  needsPromise(shard: number): boolean {
    return this.peers.neededPromise(this.nodes.get(shard));
  }

  servesUntilMs(shard: number): number {
    return this.refusedUntilMs.get(shard) ?? this.peers.promisedUntilMs(this.nodes.get(shard));
  }
}
