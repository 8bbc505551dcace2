// Whether two maps of a bucket have the same in-sync set of a shard, the same last active, and as many copies that may join the set: each new
// map has all shards, most of them unchanged.
import type { ShardSpec } from '../admin.ts';

export const hasSameSet = (one: ShardSpec, other: ShardSpec): boolean => {
  const { inSync: a = [] } = one;
  const { inSync: b = [] } = other;
  if (one.replicas.length !== other.replicas.length || one.lastActive !== other.lastActive) return false;
  if (a.length !== b.length) return false;
  return a.every(({ boot, node }, at) => b[at]?.node === node && b[at].boot === boot);
};
