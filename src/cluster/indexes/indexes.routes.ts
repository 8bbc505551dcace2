// From requests about indexes to their definitions and what the index service reports.
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import type { IndexDoor } from '#index/index.contract.ts';
import { managerIndexRecord } from '#index/rest/index-records.contract.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { nodeAddress } from '../nodes/node-record.ts';
import * as contract from './indexes.contract.ts';
import type { IndexesService } from './indexes.service.ts';

export interface IndexRoutesParts {
  readonly indexes: IndexesService;
  readonly door: IndexDoor;
  readonly view: ClusterView;
  readonly settings: SettingsStore;
}

/** Where nobody chose a storage mode. */
const defaultStorageMode = 'plasma';

export const indexRoutes = ({ indexes, door, view, settings }: IndexRoutesParts): BoundRoute[] => [
  bind(contract.GetIndexStatus, async (_input, context) => {
    await door.refresh();
    const reports = new Map(door.reports().map((report) => [report.id, report]));
    const { storageMode } = await settings.read('indexes', { storageMode: '' });
    const node = {
      address: nodeAddress({ node: view.self, localAddress: context.local.address }),
      uuid: view.self.uuid,
      storageMode: storageMode || defaultStorageMode,
    };
    const shown = indexes.all().map((index) => ({ ...index, report: reports.get(index.definition.id) }));
    return reply.json({
      indexes: shown.map((index) => managerIndexRecord(index, node)),
      version: shown.length,
      warnings: [],
    });
  }),
];
