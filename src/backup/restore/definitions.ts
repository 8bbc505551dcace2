// The buckets, scopes and collections into which a restore writes: it finds them on the node by name, or creates them.
import { BackupError } from '../format/backup-error.ts';
import type { BucketRecord } from '../format/manifest.ts';
import type { BackupNode, NodeBucket } from '../node/backup-node.ts';
import { type MappedName, type NameMap, pathOf } from './name-map.ts';

/** Where the documents of one bucket of the backup go. */
export interface Destinations {
  /** By collection id in the backup. Other ids are of collections that were dropped before the backup ended. */
  readonly collections: ReadonlyMap<number, { readonly bucket: string; readonly id: number }>;
  /** Collection ids in the backup whose target collection cannot be created, with the name of that target. */
  readonly missing: ReadonlyMap<number, MappedName>;
  readonly buckets: readonly NodeBucket[];
}

export interface DefinitionOptions {
  node: BackupNode;
  /** Creates missing buckets. */
  createsBuckets: boolean;
  /** Gives existing buckets the settings of the backup. */
  appliesSettings: boolean;
  note(text: string): void;
}

export async function prepareDestinations(
  record: BucketRecord,
  map: NameMap,
  options: DefinitionOptions,
): Promise<Destinations> {
  const targets = record.collections.map((collection) => ({
    collection,
    target: map.targetOf({ bucket: record.name, scope: collection.scope, collection: collection.name }),
  }));
  const scopes = record.scopes.map((scope) => map.scopeOf(record.name, scope));
  const empty = record.scopes.filter((scope) => !record.collections.some((one) => one.scope === scope));
  const names = new Set([
    ...targets.map(({ target }) => target.bucket),
    ...empty.map((scope) => map.scopeOf(record.name, scope).bucket),
  ]);
  const buckets: NodeBucket[] = [];
  const ids = new Map<string, number>();
  for (const name of names) {
    buckets.push(await prepareBucket(name, record, options));
    const keyspaces = targets.filter(({ target }) => target.bucket === name && !isDefault(target));
    await options.node.addCollections(name, {
      scopes: scopes.filter(({ bucket }) => bucket === name).map(({ scope }) => scope),
      collections: keyspaces.map(({ collection, target }) => ({
        scope: target.scope,
        name: target.collection,
        maxTtl: collection.maxTtl,
      })),
    });
    const { collections } = await options.node.scopes(name);
    for (const { id, scope, name: collection } of collections)
      ids.set(pathOf({ bucket: name, scope, collection }), id);
  }
  const collections = new Map<number, { bucket: string; id: number }>();
  const missing = new Map<number, MappedName>();
  for (const { collection, target } of targets) {
    const id = ids.get(pathOf(target));
    if (id !== undefined) collections.set(collection.id, { bucket: target.bucket, id });
    else if (isDefault(target)) missing.set(collection.id, target);
    else throw new BackupError(`collection ${pathOf(target)} was dropped during the restore`);
  }
  return { collections, missing, buckets };
}

/** The default collection exists from the start; once dropped, it cannot be created again. */
const isDefault = ({ scope, collection }: MappedName): boolean =>
  scope === '_default' && collection === '_default';

async function prepareBucket(
  name: string,
  record: BucketRecord,
  options: DefinitionOptions,
): Promise<NodeBucket> {
  const { node, createsBuckets, appliesSettings } = options;
  const present = await node.bucket(name);
  if (present !== null) {
    if (appliesSettings) await node.editBucket(present, record.settings);
    return present;
  }
  if (!createsBuckets) throw missingBucket(name);
  await node.createBucket(name, record.settings);
  options.note(`bucket "${name}" was created`);
  const created = await node.bucket(name);
  if (created === null) throw new BackupError(`bucket "${name}" was deleted during the restore`);
  return created;
}

export const missingBucket = (name: string): BackupError =>
  new BackupError(`the node has no bucket "${name}"; create it, or leave out --create-buckets=false`);
