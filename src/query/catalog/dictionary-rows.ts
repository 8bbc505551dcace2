// Rows of system:dictionary and system:dictionary_cache: collections with statistics that the caller may query.
import { type KeyspaceName, keyspaceText } from '#sqlpp/datastore/keyspace.ts';
import { isHeld } from '../access/privileges.ts';
import type { PlainRow, StoredStatistics } from '../query.contract.ts';
import type { QueryParts } from '../state/parts.ts';
import { type RowSource, showRow } from './row-source.ts';

export function dictionaryRows(source: RowSource): PlainRow[] {
  const { service, session } = source;
  return service.deps.statistics.all().flatMap((record) => {
    const keyspace = nameOf(service, record);
    if (keyspace === undefined) return [];
    if (!showRow(source, isHeld(session.callers, { action: 'select', keyspace }))) return [];
    return [rowOf(keyspace, record)];
  });
}

/** The rows of `system:dictionary_cache`, those of `dictionaryRows` with the name of this node: a node keeps all statistics in memory. */
export function dictionaryCacheRows(source: RowSource): PlainRow[] {
  const { name: node } = source.service.deps.node();
  return dictionaryRows(source).map(({ id, value }) => ({ id, value: { ...(value as object), node } }));
}

function rowOf(keyspace: KeyspaceName, { expressions }: StoredStatistics): PlainRow {
  const { bucket, scope, collection } = keyspace;
  const newest = expressions.reduce((a, b) => (b.gatheredMs > a.gatheredMs ? b : a));
  const value = {
    namespace: 'default',
    bucket,
    scope,
    keyspace: collection,
    docCount: newest.documents,
    ...(newest.keyBytes !== undefined && { avgDocKeySize: newest.keyBytes }),
    ...(newest.documentBytes !== undefined && { avgDocSize: newest.documentBytes }),
    distributionKeys: expressions.map(({ expression }) => expression).sort(),
  };
  return { id: keyspaceText(keyspace), value };
}

function nameOf(
  { deps }: QueryParts,
  { bucketUuid, collectionId }: StoredStatistics,
): KeyspaceName | undefined {
  const bucket = deps.keyspaces.all().find(({ uuid }) => uuid === bucketUuid);
  for (const scope of bucket?.scopes ?? []) {
    const found = scope.collections.find(({ uid }) => Number.parseInt(uid, 16) === collectionId);
    if (bucket && found)
      return { namespace: 'default', bucket: bucket.name, scope: scope.name, collection: found.name };
  }
  return undefined;
}
