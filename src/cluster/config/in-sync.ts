import type { BucketMap } from './cluster-state.ts';

/** Whether every copy has received all acknowledged durable writes; also true without a map. */
export const areCopiesInSync = (map: BucketMap | null): boolean =>
  map === null ||
  map.shards.every(({ chain, inSync = [] }) =>
    chain.every((node, index) => index === 0 || node < 0 || inSync.some(([member]) => member === node)),
  );
