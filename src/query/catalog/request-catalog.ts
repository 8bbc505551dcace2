// The `system:` keyspaces as the callers of one request may see them.

import { untilAborted } from '#ports/within.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Catalog, CatalogRow, ExecuteContext } from '#sqlpp/run/engine.ts';
import type { Session } from '../access/session.ts';
import type { PlainRow } from '../query.contract.ts';
import { asValue } from '../request/value-of-json.ts';
import type { QueryParts } from '../state/parts.ts';
import { dictionaryCacheRows, dictionaryRows } from './dictionary-rows.ts';
import { functionRows } from './function-rows.ts';
import { indexRows } from './index-rows.ts';
import { bucketRows, keyspaceRows, scopeRows } from './keyspace-rows.ts';
import { isOwnKeyspace, type OwnRow, removeFromNodes, rowsOfAllNodes } from './own-rows.ts';
import type { RowSource } from './row-source.ts';
import { roleRows, userRows } from './user-rows.ts';

type Row = PlainRow | OwnRow;
type Rows = (source: RowSource) => readonly Row[] | Promise<readonly Row[]>;

const noRows: Rows = () => [];

function ofAllNodes(keyspace: string): Rows {
  return ({ service, warn = () => {} }) => rowsOfAllNodes(service, keyspace, warn);
}

const keyspaces: Readonly<Record<string, Rows>> = {
  active_requests: ofAllNodes('active_requests'),
  all_indexes: (source) => indexRows(source),
  all_keyspaces: (source) => [...keyspaceRows(source, { all: true }), ...systemRows(source)],
  all_keyspaces_info: (source) => withCounts(source, keyspaceRows(source, { all: true })),
  all_scopes: (source) => scopeRows(source, { all: true }),
  applicable_roles: (source) => roleRows(source),
  buckets: (source) => bucketRows(source),
  completed_requests: ofAllNodes('completed_requests'),
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
  nodes: ({ service }) =>
    service.deps.node().nodes.map(({ name, ports, services }) => ({
      id: name,
      value: { name, ports, services: [...services].sort() },
    })),
  prepareds: ofAllNodes('prepareds'),
  scopes: (source) => scopeRows(source, { all: false }),
  tasks_cache: ofAllNodes('tasks_cache'),
  transactions: ofAllNodes('transactions'),
  user_info: (source) => userRows(source, { onlyOwn: false }),
};

const catalogNames: readonly string[] = Object.keys(keyspaces);

export class RequestCatalog implements Catalog {
  private readonly source: RowSource;
  /**
   * The rows of all nodes, for keyspaces whose rows describe one node. They are read once for a request: a correlated subquery scans once for each
   * row of the outer query.
   */
  private readonly readRows = new Map<string, Promise<readonly Row[]>>();

  constructor(service: QueryParts, session: Session) {
    this.source = { service, session };
  }

  has(collection: string): boolean {
    return Object.hasOwn(keyspaces, collection);
  }

  async *scan(
    collection: string,
    { signal }: Pick<ExecuteContext, 'signal'>,
    warn: (warning: Error) => void,
  ): AsyncIterable<readonly CatalogRow[]> {
    const { clock } = this.source.service.deps;
    const found = await untilAborted(signal, this.rowsOf(collection, warn));
    let batch: CatalogRow[] = [];
    let startedMs = clock.monotonicMs();
    for (const row of found) {
      batch.push(catalogRowOf(row));
      if (clock.monotonicMs() - startedMs < batchMs) continue;
      yield batch;
      batch = [];
      startedMs = clock.monotonicMs();
    }
    if (batch.length > 0) yield batch;
  }

  private async rowsOf(collection: string, warn: (warning: Error) => void): Promise<readonly Row[]> {
    const rows = Object.hasOwn(keyspaces, collection) ? keyspaces[collection] : undefined;
    if (rows === undefined) throw sqlError(12003, `system:${collection}`);
    const leftOut = () => warn(sqlError(11011, `system:${collection}`));
    const read = async () => await rows({ ...this.source, leftOut, warn });
    if (!isOwnKeyspace(collection)) return await read();
    const known = this.readRows.get(collection) ?? read();
    this.readRows.set(collection, known);
    return await known;
  }

  async remove(
    collection: string,
    ids: readonly string[],
    { signal }: Pick<ExecuteContext, 'signal'>,
  ): Promise<void> {
    if (!isOwnKeyspace(collection)) throw sqlError(11003, `DELETE on system:${collection}`);
    await untilAborted(signal, removeFromNodes(this.source.service, collection, ids));
  }
}

/** A batch of rows ends after this time: between two batches other requests run. */
const batchMs = 2;

function catalogRowOf(row: Row): CatalogRow {
  const { id, value } = 'make' in row ? row.make() : row;
  return { id, value: asValue(value) };
}

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
