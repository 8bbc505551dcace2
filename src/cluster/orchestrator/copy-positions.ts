// How far the copies of a bucket are, as the data services of the nodes say: a failover promotes the furthest copy, which keeps most of the
// writes that were not durable.
import type { Clock } from '#ports/clock.ts';
import { within } from '#ports/within.ts';
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';
import type { PositionOf, ShardPosition } from './failover-map.ts';

/** Longer than a node needs that is not overloaded. Documents of the failed node cannot be used meanwhile. */
const answerTimeoutMs = 500;

/** The positions of the copies of one node, by shard; empty where it has none or cannot say. */
export interface NodePositions {
  readonly boot: string;
  readonly shards: readonly (ShardPosition | null)[];
}

export interface CopyPositionsDeps {
  readonly nodeId: string;
  readonly bootId: string;
  readonly data: { shardPositions(bucketUuid: string): Promise<readonly (ShardPosition | null)[]> };
  readonly peers: {
    ask(nodeId: string, name: string, body: unknown, timeoutMs: number): Promise<unknown>;
    answer<Body>(name: string, answer: (body: Body, from: string) => unknown): void;
  };
  readonly isDown: (node: string) => boolean;
  readonly clock: Clock;
}

export class CopyPositions {
  readonly #deps: CopyPositionsDeps;

  constructor(deps: CopyPositionsDeps) {
    this.#deps = deps;
    deps.peers.answer('shardPositions', ({ bucket }: { bucket: string }) => this.#ownPositions(bucket));
  }

  /** Positions of the copies that may be promoted when these nodes fail. A node that does not answer in time has none. */
  async positionsAfter(bucket: string, map: BucketMap, failed: readonly string[]): Promise<PositionOf> {
    const nodes = candidates(map, failed).filter((node) => !this.#deps.isDown(node));
    const answers = await Promise.all(
      nodes.map(async (node) => [node, await this.#ask(node, bucket)] as const),
    );
    const byNode = new Map(answers);
    return (node, shard) => {
      const found = byNode.get(node);
      return found && isUnbroken(map, node, shard, found.boot) ? (found.shards[shard] ?? null) : null;
    };
  }

  async #ask(node: string, bucket: string): Promise<NodePositions | null> {
    const { clock, nodeId, peers } = this.#deps;
    const answer =
      node === nodeId
        ? within(clock, answerTimeoutMs, this.#ownPositions(bucket))
        : (peers.ask(node, 'shardPositions', { bucket }, answerTimeoutMs) as Promise<NodePositions>);
    return await answer.catch(() => null);
  }

  async #ownPositions(bucket: string): Promise<NodePositions> {
    const { bootId, data } = this.#deps;
    return { boot: bootId, shards: await data.shardPositions(bucket) };
  }
}

/** The nodes of which one of several may become the active of a shard. */
function candidates({ nodes, shards }: BucketMap, failed: readonly string[]): string[] {
  const isFailed = (at: number): boolean => failed.includes(nodes[at] ?? '');
  const found = shards.flatMap(({ chain, incoming = [] }) => {
    const live = [...chain, ...incoming].filter((at) => at >= 0 && !isFailed(at));
    return isFailed(chain[0] ?? -1) && live.length > 1 ? live : [];
  });
  return [...new Set(found)].map((at) => nodes[at] ?? '');
}

/** A process that started after the one that is in the in-sync set lacks what that one had in memory alone. */
function isUnbroken({ nodes, shards }: BucketMap, node: string, shard: number, boot: string): boolean {
  const { inSync = [] }: Pick<ShardPlacement, 'inSync'> = shards[shard] ?? {};
  const member = inSync.find(([at]) => nodes[at] === node);
  return member === undefined || member[1] === boot;
}
