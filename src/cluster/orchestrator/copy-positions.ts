// Asks the data services for the positions of a bucket's copies: a failover promotes the copy with the most changes, which keeps most of the
// writes that were not durable. Also finds the nodes that have restarted, whose copies wait for the changes of another member of the in-sync set.
import type { Clock } from '#ports/clock.ts';
import { within } from '#ports/within.ts';
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';
import type { CopyStates, ShardPosition } from './failover-map.ts';

/** More than a node needs for the answer unless it is overloaded. While the orchestrator waits, the documents of the failed node are unavailable. */
const answerTimeoutMs = 500;

/** The positions of the copies of one node, by shard; null: the node has no copy of the shard. An empty list: it has none, or does not know. */
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

  /** States of the copies that are left when these nodes fail. The state of a copy is unknown if its node does not answer in time. */
  async statesAfter(bucket: string, map: BucketMap, failed: readonly string[]): Promise<CopyStates> {
    const nodes = candidates(map, failed).filter((node) => !this.#deps.isDown(node));
    const answers = await Promise.all(
      nodes.map(async (node) => [node, await this.#ask(node, bucket)] as const),
    );
    const byNode = new Map(answers);
    return {
      position: (node, shard) => {
        const found = byNode.get(node);
        return found && isSameProcess(map, node, shard, found.boot) ? (found.shards[shard] ?? null) : null;
      },
      hasRestarted: (node, shard) => {
        const found = byNode.get(node);
        return found != null && !isSameProcess(map, node, shard, found.boot);
      },
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

/** The nodes of each shard whose new active must be chosen among several, or that loses a member of its in-sync set. */
function candidates({ nodes, shards }: BucketMap, failed: readonly string[]): string[] {
  const isFailed = (at: number): boolean => failed.includes(nodes[at] ?? '');
  const found = shards.flatMap(({ chain, incoming = [], inSync = [] }) => {
    const live = [...chain, ...incoming].filter((at) => at >= 0 && !isFailed(at));
    const isAsked = isFailed(chain[0] ?? -1) ? live.length > 1 : inSync.some(([at]) => isFailed(at));
    return isAsked ? live : [];
  });
  return [...new Set(found)].map((at) => nodes[at] ?? '');
}

/** False where the in-sync set names an earlier process of the node: this one lacks what that one had only in memory. */
function isSameProcess({ nodes, shards }: BucketMap, node: string, shard: number, boot: string): boolean {
  const { inSync = [] }: Pick<ShardPlacement, 'inSync'> = shards[shard] ?? {};
  const member = inSync.find(([at]) => nodes[at] === node);
  return member === undefined || member[1] === boot;
}
