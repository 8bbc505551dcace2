// Rows of system:indexes, in the form that the index managers of client libraries expect.
import type { IndexStatus } from '#sqlpp/datastore/indexes.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { maySeeKeyspace } from '../access/privileges.ts';
import { collectionName } from '../data/keyspaces.ts';
import type { PlainRow } from '../query.contract.ts';
import { type RowSource, showRow } from './row-source.ts';

export function indexRows(source: RowSource): PlainRow[] {
  const { service, session } = source;
  const { keyspaces, indexes, node } = service.deps;
  const rows: PlainRow[] = [];
  for (const bucket of keyspaces.all()) {
    for (const scope of bucket.scopes) {
      for (const { name } of scope.collections) {
        const keyspace = keyspaces.find(collectionName(bucket.name, scope.name, name));
        const found = typeof keyspace === 'string' ? [] : indexes.indexesOf(keyspace);
        if (typeof keyspace === 'string' || found.length === 0) continue;
        if (!showRow(source, maySeeKeyspace(session.callers, keyspace.name))) continue;
        const { datastoreUrl } = node();
        for (const status of found) rows.push(indexRow(status, keyspace, datastoreUrl));
      }
    }
  }
  return rows;
}

function indexRow(
  { definition, state, message, lastScanMs }: IndexStatus,
  { name }: Keyspace,
  url: string,
): PlainRow {
  const { bucket, scope, collection } = name;
  const isDefault = scope === '_default' && collection === '_default';
  const value = {
    id: definition.id,
    name: definition.name,
    datastore_id: url,
    namespace_id: 'default',
    ...(isDefault
      ? { keyspace_id: bucket }
      : { bucket_id: bucket, scope_id: scope, keyspace_id: collection }),
    index_key: definition.keys.map(keyText),
    using: 'gsi',
    state,
    ...(definition.isPrimary && { is_primary: true }),
    ...(definition.condition !== undefined && { condition: definition.condition }),
    ...(definition.partition !== undefined && {
      partition: `HASH(${definition.partition.expressions.join(', ')})`,
    }),
    ...(message !== undefined && { message }),
    metadata: {
      last_scan_time: lastScanMs === 0 ? null : new Date(lastScanMs).toISOString(),
      num_replica: definition.replicas,
    },
  };
  return { id: definition.id, value };
}

const keyText = ({
  expression,
  isDescending,
  includesMissing,
}: IndexStatus['definition']['keys'][number]): string =>
  `${expression}${includesMissing ? ' INCLUDE MISSING' : ''}${isDescending ? ' DESC' : ''}`;
