// Drops the scopes and collections of the target that an earlier backup of a chain has and the last one does not, unless `--map` restores
// others into them.
import type { BackupManifest, BucketRecord } from '../format/manifest.ts';
import type { BackupNode } from '../node/backup-node.ts';
import type { NameFilter } from './name-filter.ts';
import { type NameMap, pathOf } from './name-map.ts';

export interface DroppedCollections {
  readonly node: BackupNode;
  /** The newest first. */
  readonly chain: readonly BackupManifest[];
  readonly map: NameMap;
  /** Collections that the filter does not choose stay. */
  readonly filter: NameFilter;
}

type ScopesOfBackup = Pick<BucketRecord, 'scopes' | 'collections'>;

/** Drops those of one bucket. `bucket`: its name in the backups. */
export async function dropCollections(
  bucket: string,
  { node, chain, map, filter }: DroppedCollections,
): Promise<void> {
  const scopesIn = (manifest: BackupManifest | undefined): ScopesOfBackup =>
    manifest?.buckets.find(({ name }) => name === bucket) ?? { scopes: [], collections: [] };
  const last = scopesIn(chain[0]);
  const kept = destinationsOf(chain[0], map);
  for (const { scopes, collections } of chain.slice(1).map(scopesIn)) {
    const dropped = scopes.filter(
      (scope) =>
        !last.scopes.includes(scope) &&
        filter.choosesAll(bucket, scope) &&
        !kept.has(scopePath(map.scopeOf(bucket, scope))),
    );
    for (const scope of dropped) await node.dropScope(map.scopeOf(bucket, scope));
    for (const { scope, name: collection } of collections) {
      const isInLast = last.collections.some((one) => one.scope === scope && one.name === collection);
      if (isInLast || dropped.includes(scope) || !filter.chooses(bucket, scope, collection)) continue;
      const target = map.targetOf({ bucket, scope, collection });
      if (!kept.has(pathOf(target))) await node.dropCollection(target);
    }
  }
}

/** No collection has an empty name, so that no path of a collection is equal. */
const scopePath = ({ bucket, scope }: { bucket: string; scope: string }): string =>
  pathOf({ bucket, scope, collection: '' });

/** The scopes and collections of the target that take those of the last backup, of all its buckets. */
function destinationsOf(last: BackupManifest | undefined, map: NameMap): ReadonlySet<string> {
  const kept = new Set<string>();
  for (const { name: bucket, scopes, collections } of last?.buckets ?? []) {
    for (const scope of scopes) kept.add(scopePath(map.scopeOf(bucket, scope)));
    for (const { scope, name: collection } of collections) {
      const target = map.targetOf({ bucket, scope, collection });
      kept.add(pathOf(target)).add(scopePath(target));
    }
  }
  return kept;
}
