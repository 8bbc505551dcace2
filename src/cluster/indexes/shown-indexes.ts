// Indexes and their node as the routes show them, with the current reports of the index service.
import { crc32 } from 'node:zlib';
import type { Context } from '#contract/route.ts';
import type { IndexServiceAdmin } from '#index/index.contract.ts';
import type { ShownIndex, ShownNode } from '#index/rest/index-records.contract.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { nodeAddress } from '../nodes/node-record.ts';
import type { IndexesService } from './indexes.service.ts';

export interface IndexRoutesParts {
  readonly indexes: IndexesService;
  readonly indexAdmin: IndexServiceAdmin;
  readonly view: ClusterView;
  readonly settings: SettingsStore;
}

/** Whether the caller's roles permit the operation on the index. */
export function mayOnIndex(
  { definition }: ShownIndex,
  context: Context,
  operation: 'list' | 'read',
): boolean {
  const { bucket, scope, collection } = definition.keyspace.name;
  return context.may(`cluster.collection[${bucket}:${scope}:${collection}].n1ql.index!${operation}`);
}

/** Shown if no storage mode was chosen. */
const defaultStorageMode = 'plasma';

export async function shownIndexes({ indexes, indexAdmin }: IndexRoutesParts): Promise<ShownIndex[]> {
  await indexAdmin.refresh();
  const reports = new Map(indexAdmin.reports().map((report) => [report.id, report]));
  return indexes.all().map((index) => ({ ...index, report: reports.get(index.definition.id) }));
}

export async function shownNode({ view, settings }: IndexRoutesParts, context: Context): Promise<ShownNode> {
  const { storageMode } = await settings.read('indexes', { storageMode: '' });
  return {
    address: nodeAddress({ node: view.self, localAddress: context.local.address }),
    uuid: view.self.uuid,
    storageMode: storageMode || defaultStorageMode,
  };
}

/** The version of a list of indexes, by which clients notice that one of the records has changed; 0 for no records. */
export const recordsVersion = (records: readonly object[]): number =>
  crc32(records.map((record) => JSON.stringify(record)).join(''));
