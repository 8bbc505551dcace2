// What this node's data service does with each shard of a bucket, from the bucket's map.
import type { ShardSpec } from '#kv/admin.ts';
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';
import { isHandedOver, lastActiveOf } from '../topology/promoted-shard.ts';

/** The last result for each map: a map is sent to the data service twice, ahead of the desired state and in it. */
const lastResults = new WeakMap<
  BucketMap,
  { readonly nodeId: string; readonly shards: readonly ShardSpec[] }
>();

export function wantedShards(map: BucketMap, nodeId: string): readonly ShardSpec[] {
  const last = lastResults.get(map);
  if (last?.nodeId === nodeId) return last.shards;
  const shards = shardsOf(map, nodeId);
  lastResults.set(map, { nodeId, shards });
  return shards;
}

function shardsOf(map: BucketMap, nodeId: string): readonly ShardSpec[] {
  const ownIndex = map.nodes.indexOf(nodeId);
  /** Equal shards share one object, which a message to the data thread contains only once. */
  const specs = new Map<string, ShardSpec>();
  return map.shards.map((shard) => {
    const text = JSON.stringify(shard);
    const spec = specs.get(text) ?? specOf(shard, ownIndex, map.nodes);
    specs.set(text, spec);
    return spec;
  });
}

function specOf(placement: ShardPlacement, ownIndex: number, nodes: readonly string[]): ShardSpec {
  const { epoch, chain, confirmed, incoming = [], inSync, stopped, successor = -1 } = placement;
  const [first = -1, ...followers] = chain;
  const copies = [...followers, ...incoming];
  const isCopy = ownIndex >= 0 && copies.includes(ownIndex);
  const state = ownIndex >= 0 && first === ownIndex ? 'active' : isCopy ? 'replica' : 'dead';
  const [active, last, successorId] = [nodes[first], lastActiveOf(placement), nodes[successor]];
  return {
    state,
    epoch,
    replicas: copies.flatMap((node) => nodes[node] ?? []),
    ...(active !== undefined && { active }),
    ...(confirmed !== undefined && { confirmed }),
    ...(last !== null && { lastActive: last.node }),
    ...(stopped !== undefined && { stopped }),
    ...(isHandedOver(placement) && { isHandedOver: true }),
    ...(successorId !== undefined && { successor: successorId }),
    ...(inSync && {
      inSync: inSync.flatMap(([position, boot]) => {
        const node = nodes[position];
        return node === undefined ? [] : [{ node, boot }];
      }),
    }),
  };
}
