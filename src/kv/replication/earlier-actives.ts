// The active that fed each copy of this node last. It may serve until the promise of this node to it ends, connected or not.
import type { PeerConnections } from './peers.ts';

type Promises = Pick<PeerConnections, 'countsBoots' | 'neededPromise' | 'promisedUntilMs'>;

export class EarlierActives {
  private readonly peers: Promises;
  /** By shard. */
  private readonly nodes = new Map<number, string>();
  /** By shard that this node will serve: until when the earlier active, which this node has refused, may still serve. */
  private readonly refusedUntilMs = new Map<number, number>();

  constructor(peers: Promises) {
    this.peers = peers;
  }

  /** Records that this active feeds the copy of the shard now. */
  fedBy(shard: number, node: string): void {
    this.nodes.set(shard, node);
    this.refusedUntilMs.delete(shard);
  }

  nodeOf(shard: number): string | undefined {
    return this.nodes.get(shard);
  }

  /**
   * Stops giving promises for the shard to the earlier active, and returns that node, so that the caller sends it the higher epoch; null: that
   * was done before, or there is none. An active that has the higher epoch ignores later answers to its heartbeats. Without the epoch, these
   * answers would let it serve on, and it could not be replaced.
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

  /** Whether the earlier active serves by promises of this process only. */
  countsBoots(shard: number): boolean {
    return this.peers.countsBoots(this.nodes.get(shard));
  }

  servesUntilMs(shard: number): number {
    return this.refusedUntilMs.get(shard) ?? this.peers.promisedUntilMs(this.nodes.get(shard));
  }
}
