// Shards that no node has served yet.
import type { ShardSpec } from '../admin.ts';

/** No process has confirmed the shard, and none has received a copy of it. */
export const isUnclaimed = ({ confirmed, inSync }: ShardSpec): boolean =>
  confirmed === undefined && inSync === undefined;
