// The `system:` keyspaces as the callers of one request may see them.

import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Catalog, CatalogRow } from '#sqlpp/run/engine.ts';
import type { Session } from '../access/session.ts';
import { asValue } from '../request/value-of-json.ts';
import type { QueryParts } from '../state/parts.ts';
import { dictionaryCacheRows, dictionaryRows } from './dictionary-rows.ts';
import { functionRows } from './function-rows.ts';
import { indexRows } from './index-rows.ts';
import { bucketRows, keyspaceRows, scopeRows } from './keyspace-rows.ts';
import type { PlainRow, RowSource } from './plain-row.ts';
import { activeRow, completedRow, preparedRow } from './request-rows.ts';
import { removeTask, taskRows } from './task-rows.ts';
import { transactionRow } from './transaction-rows.ts';
import { roleRows, userRows } from './user-rows.ts';

type Rows = (source: RowSource) => readonly PlainRow[] | Promise<readonly PlainRow[]>;

const noRows: Rows = () => [];

const keyspaces: Readonly<Record<string, Rows>> = {
  active_requests: ({ service }) =>
    service.active.all().map((active) => activeRow(active, service.deps.clock)),
  all_indexes: (source) => indexRows(source),
  all_keyspaces: (source) => [...keyspaceRows(source, { all: true }), ...systemRows(source)],
  all_keyspaces_info: (source) => withCounts(source, keyspaceRows(source, { all: true })),
  all_scopes: (source) => scopeRows(source, { all: true }),
  applicable_roles: (source) => roleRows(source),
  buckets: (source) => bucketRows(source),
  completed_requests: ({ service }) => service.completed.all().map(completedRow),
  datastores: ({ service }) => {
    const { datastoreUrl: url } = service.deps.node();
    return [{ id: url, value: { id: url, url } }];
  },
  dictionary: dictionaryRows,
  dictionary_cache: dictionaryCacheRows,
  dual: () => [{ id: 'dual', value: null }],
  functions: functionRows,
  functions_cache: noRows,
  indexes: (source) => indexRows(source),
  keyspaces: (source) => keyspaceRows(source, { all: false }),
  keyspaces_info: (source) => withCounts(source, keyspaceRows(source, { all: false })),
  my_user_info: (source) => userRows(source, { onlyOwn: true }),
  namespaces: ({ service }) => [
    {
      id: 'default',
      value: { datastore_id: service.deps.node().datastoreUrl, id: 'default', name: 'default' },
    },
  ],
  nodes: ({ service }) => {
    const { name } = service.deps.node();
    return [{ id: name, value: { name, services: ['index', 'kv', 'n1ql'] } }];
  },
  prepareds: ({ service }) => service.prepared.all().map((entry) => preparedRow(entry)),
  scopes: (source) => scopeRows(source, { all: false }),
  tasks_cache: ({ service }) => taskRows(service),
  transactions: ({ service }) => service.transactions.all().map(transactionRow),
  user_info: (source) => userRows(source, { onlyOwn: false }),
};

const catalogNames: readonly string[] = Object.keys(keyspaces);

export class RequestCatalog implements Catalog {
  private readonly source: RowSource;

  constructor(service: QueryParts, session: Session) {
    this.source = { service, session };
  }

  has(collection: string): boolean {
    return Object.hasOwn(keyspaces, collection);
  }

  async *scan(
    collection: string,
    _execution: unknown,
    warn: (warning: Error) => void,
  ): AsyncIterable<readonly CatalogRow[]> {
    const rows = Object.hasOwn(keyspaces, collection) ? keyspaces[collection] : undefined;
    if (rows === undefined) throw sqlError(12003, `system:${collection}`);
    const leftOut = () => warn(sqlError(11011, `system:${collection}`));
    yield (await rows({ ...this.source, leftOut })).map(({ id, value }) => ({ id, value: asValue(value) }));
  }

  async remove(collection: string, ids: readonly string[]): Promise<void> {
    const { service } = this.source;
    const remove = removers[collection];
    if (remove === undefined) throw sqlError(11003, `DELETE on system:${collection}`);
    for (const id of ids) remove(service, id);
  }
}

const removers: Readonly<Record<string, (service: QueryParts, id: string) => void>> = {
  active_requests: (service, id) =>
    service.active.find(id)?.cancel(sqlError(5011, 'the request was cancelled by an administrator')),
  completed_requests: (service, id) => void service.completed.delete(id),
  prepareds: (service, id) => void service.prepared.remove(id),
  tasks_cache: (service, id) => void removeTask(service, id),
  transactions: (service, id) => void service.transactions.end(id),
};

const systemRows = ({ service }: RowSource): PlainRow[] => {
  const { datastoreUrl } = service.deps.node();
  return catalogNames.map((name) => ({
    id: `system:${name}`,
    value: {
      datastore_id: datastoreUrl,
      id: name,
      name,
      namespace: '#system',
      namespace_id: '#system',
      path: `system:${name}`,
    },
  }));
};

/** Adds document counts. Each costs a request to the data service, so only the rows of `…_info` have them. */
async function withCounts({ service }: RowSource, rows: readonly PlainRow[]): Promise<PlainRow[]> {
  const { keyspaces: keyspaceCache, clients } = service.deps;
  return await Promise.all(
    rows.map(async ({ id, value }) => {
      const row = value as { bucket?: string; scope?: string; name: string };
      const { bucket = row.name, scope = '_default' } = row;
      const collection = row.bucket === undefined ? '_default' : row.name;
      const found = keyspaceCache.find({ namespace: 'default', bucket, scope, collection });
      if (typeof found === 'string') return { id, value };
      const client = await clients.clientOf(bucket);
      return { id, value: { ...row, count: await client.itemCount(found.collectionId), size: 0 } };
    }),
  );
}
