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

  of(shard: number): string | undefined {
    return this.nodes.get(shard);
  }

  /**
   * Ends the promises to the earlier active and returns it, so that the caller sends it the higher epoch; null: it was sent, or there is
   * none. The active then takes no later answer for a promise. Otherwise one that keeps running could not be replaced, because this node
   * answers its heartbeats.
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
