// Whether two maps of a bucket have the same in-sync set of a shard: each change of the map contains those of all shards, most of them unchanged.
import type { ShardSpec } from '../admin.ts';

export const hasSameSet = ({ inSync: a = [] }: ShardSpec, { inSync: b = [] }: ShardSpec): boolean =>
  a.length === b.length && a.every(({ boot, node }, at) => b[at]?.node === node && b[at].boot === boot);
