// Which node holds which vbucket: the map of a bucket by shards, and as clients receive it.
import { vbucketCount } from '#client/document-key.ts';
import type { BucketMap } from '../config/cluster-state.ts';

/** A shard is the vbuckets with one remainder modulo this. */
export const shardCount = 64;

export type VbucketMap = readonly (readonly number[])[];

/** The map of a bucket whose every shard is active on this node, without copies. */
export const mapOnOneNode = (nodeId: string): BucketMap => ({
  nodes: [nodeId],
  shards: Array.from({ length: shardCount }, () => ({ epoch: 1, chain: [0] })),
});

/** A shard's chain of this length: -1 where there is no node. */
export const paddedChain = (nodes: readonly number[], length: number): number[] =>
  Array.from({ length }, (_, index) => nodes[index] ?? -1);

/** Maps and their texts are by far the largest part of every bucket's record: those with equal rows are one object. */
const cachedMax = 64;
const byRows = new Map<string, VbucketMap>();
const byMap = new WeakMap<BucketMap, Map<string, VbucketMap>>();
const texts = new WeakMap<VbucketMap, string>();

/**
 * One row for each vbucket: the active, then as many replicas as are configured; positions in `nodeIds`, -1 where there is none.
 */
export function vbucketMapOf(map: BucketMap, nodeIds: readonly string[], replicas: number): VbucketMap {
  const cached = byMap.get(map) ?? new Map<string, VbucketMap>();
  byMap.set(map, cached);
  const key = `${replicas} ${nodeIds.join(' ')}`;
  const vbucketMap = cached.get(key) ?? sharedRows(rowsOf(map, nodeIds, replicas));
  cached.set(key, vbucketMap);
  return vbucketMap;
}

function rowsOf({ nodes, shards }: BucketMap, nodeIds: readonly string[], replicas: number): number[][] {
  const positions = nodes.map((id) => nodeIds.indexOf(id));
  return shards.map(({ chain }) =>
    Array.from({ length: 1 + replicas }, (_, index) => positions[chain[index] ?? -1] ?? -1),
  );
}

function sharedRows(shards: readonly number[][]): VbucketMap {
  const key = JSON.stringify(shards);
  const cached = byRows.get(key);
  if (cached) return cached;
  const map = Array.from({ length: vbucketCount }, (_, vb) => shards[vb % shards.length] as number[]);
  if (byRows.size >= cachedMax) byRows.clear();
  byRows.set(key, map);
  return map;
}

/** A record that may contain a map. */
export interface RecordWithMap {
  readonly vBucketServerMap?: { readonly vBucketMap: VbucketMap };
  readonly [field: string]: unknown;
}

/** Equal to `JSON.stringify`, without serializing the map again. */
export function mappedText(record: RecordWithMap): string {
  const { vBucketServerMap } = record;
  if (!vBucketServerMap) return JSON.stringify(record);
  const unmapped = { ...record, vBucketServerMap: { ...vBucketServerMap, vBucketMap: null } };
  // No string in the record can contain this text: quotes inside strings are escaped.
  return JSON.stringify(unmapped).replace(
    '"vBucketMap":null',
    () => `"vBucketMap":${textOf(vBucketServerMap.vBucketMap)}`,
  );
}

function textOf(map: VbucketMap): string {
  const text = texts.get(map) ?? JSON.stringify(map);
  texts.set(map, text);
  return text;
}
