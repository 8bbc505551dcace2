// Rows of system:buckets, system:scopes and system:keyspaces. A caller sees the keyspaces for which it has a query privilege, and the
// scopes and buckets that contain one of them.
import { maySeeKeyspace } from '../access/privileges.ts';
import { type BucketState, collectionName } from '../data/keyspaces.ts';
import type { PlainRow } from '../query.contract.ts';
import { type RowSource, showRow } from './row-source.ts';

const namespace = 'default';
/** System scopes and collections begin with `_`. */
const isSystem = (name: string): boolean => name.startsWith('_');

/** Quotes names with special characters in backticks. */
export const pathText = (...names: string[]): string =>
  `${namespace}:${names.map((name) => (/^[A-Za-z_][\w]*$/.test(name) ? name : `\`${name}\``)).join('.')}`;

const common = ({ service }: RowSource) => ({
  datastore_id: service.deps.node().datastoreUrl,
  namespace,
  namespace_id: namespace,
});

/** Buckets without change streams have no collections and cannot be queried. */
const queryable = ({ service }: RowSource): BucketState[] =>
  service.deps.keyspaces.all().filter(({ type }) => type !== 'cache');

function isKeyspaceVisible(
  { session }: RowSource,
  bucket: string,
  scope: string,
  collection: string,
): boolean {
  return maySeeKeyspace(session.callers, collectionName(bucket, scope, collection));
}

const isScopeVisible = (source: RowSource, bucket: string, scope: BucketState['scopes'][number]): boolean =>
  isKeyspaceVisible(source, bucket, scope.name, '') ||
  scope.collections.some((collection) => isKeyspaceVisible(source, bucket, scope.name, collection.name));

const isBucketVisible = (source: RowSource, { name, scopes }: BucketState): boolean =>
  scopes.some((scope) => isScopeVisible(source, name, scope));

export function bucketRows(source: RowSource): PlainRow[] {
  return queryable(source)
    .filter((bucket) => showRow(source, isBucketVisible(source, bucket)))
    .map(({ name }) => ({
      id: `${namespace}:${name}`,
      value: { ...common(source), name, path: pathText(name) },
    }));
}

export function scopeRows(source: RowSource, { all }: { all: boolean }): PlainRow[] {
  return queryable(source).flatMap((bucket) =>
    bucket.scopes
      .filter(
        (scope) =>
          (all || !isSystem(scope.name)) && showRow(source, isScopeVisible(source, bucket.name, scope)),
      )
      .map(({ name }) => ({
        id: `${namespace}:${bucket.name}.${name}`,
        value: { ...common(source), bucket: bucket.name, name, path: pathText(bucket.name, name) },
      })),
  );
}

export function keyspaceRows(source: RowSource, { all }: { all: boolean }): PlainRow[] {
  return queryable(source).flatMap((bucket) => [
    ...(hasDefaultCollection(bucket) &&
    showRow(source, isKeyspaceVisible(source, bucket.name, '_default', '_default'))
      ? [bucketKeyspace(source, bucket)]
      : []),
    ...bucket.scopes.flatMap((scope) =>
      scope.collections
        .filter(
          ({ name }) =>
            (all || !isSystem(name)) &&
            showRow(source, isKeyspaceVisible(source, bucket.name, scope.name, name)),
        )
        .map(({ name }) => collectionKeyspace(source, bucket.name, scope.name, name)),
    ),
  ]);
}

/** A bucket is itself a keyspace until its default collection is dropped. */
const hasDefaultCollection = ({ scopes }: BucketState): boolean =>
  scopes.some(
    (scope) => scope.name === '_default' && scope.collections.some(({ name }) => name === '_default'),
  );

const bucketKeyspace = (source: RowSource, { name }: BucketState): PlainRow => ({
  id: `${namespace}:${name}`,
  value: { ...common(source), id: name, name, path: pathText(name) },
});

const collectionKeyspace = (source: RowSource, bucket: string, scope: string, name: string): PlainRow => ({
  id: `${namespace}:${bucket}.${scope}.${name}`,
  value: { ...common(source), bucket, id: name, name, path: pathText(bucket, scope, name), scope },
});
