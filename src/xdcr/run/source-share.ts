// Which part of a replication this node runs: each node of the source replicates the vbuckets that are active on it.
import type { ClusterLayout } from '#client/cluster-routes.ts';
import { vbucketCount } from '#client/document-key.ts';

const allVbuckets: readonly number[] = Array.from({ length: vbucketCount }, (_, vb) => vb);

/** If `layout` is null, this node has all vbuckets. */
export function ownVbuckets(layout: ClusterLayout | null, bucket: string): readonly number[] {
  const shards = layout?.actives[bucket] ?? [];
  if (layout === null || shards.length === 0) return allVbuckets;
  return allVbuckets.filter((vb) => shards[vb % shards.length] === layout.self);
}

/** How many nodes have vbuckets of the bucket, and so a part of the network limit of a replication. */
export function sendingNodes(layout: ClusterLayout | null, bucket: string): number {
  const nodes = new Set(layout?.actives[bucket] ?? []);
  nodes.delete(null);
  return Math.max(1, nodes.size);
}
