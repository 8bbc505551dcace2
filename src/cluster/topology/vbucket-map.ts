// Maps vbuckets to nodes: to the one node that a cluster has.

export const vbucketCount = 1024;

export type VbucketMap = readonly (readonly number[])[];

/** Maps by number of replicas. They and their texts are cached, since they are by far the largest part of every bucket's record. */
const maps = new Map<number, VbucketMap>();
const texts = new WeakMap<VbucketMap, string>();

/** One row for each vbucket: active first, then its replicas; -1 where no node can take one. */
export function singleNodeMap(replicas: number): VbucketMap {
  const made = maps.get(replicas);
  if (made) return made;
  const row = [0, ...Array<number>(replicas).fill(-1)];
  const map = Array.from({ length: vbucketCount }, () => row);
  maps.set(replicas, map);
  return map;
}

/** A record that may contain a map. */
export interface Mapped {
  readonly vBucketServerMap?: { readonly vBucketMap: VbucketMap };
  readonly [field: string]: unknown;
}

/** Equal to `JSON.stringify`, without serializing the map again. */
export function mappedText(record: Mapped): string {
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
  const made = texts.get(map) ?? JSON.stringify(map);
  texts.set(map, made);
  return made;
}
