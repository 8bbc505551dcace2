// Shards that nobody has had yet.
import type { ShardSpec } from '../admin.ts';

/** No process has ever confirmed the shard, and none has received anything of it. */
export const isUnclaimed = ({ confirmed, inSync }: ShardSpec): boolean =>
  confirmed === undefined && inSync === undefined;
