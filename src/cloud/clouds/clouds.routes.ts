// Handlers for clouds. Every role may read them, because creating a cluster requires a cloud id.
import { notFound } from '../answers/api-error.ts';
import { cursorOf } from '../answers/paging.ts';
import { type BoundOperation, bind } from '../http/operation.ts';
import { pageOf } from '../store/page-of.ts';
import type { Store } from '../store/tables.ts';
import { cloudReply, cloudSummaryReply, ListClouds, ShowCloud } from './clouds.contract.ts';

export interface CloudRouteParts {
  store: Store;
  tenantId: string;
  version: string;
}

const sortColumns = {
  id: 'id',
  name: 'name',
  status: 'status',
  provider: 'provider',
  region: 'region',
  virtualNetworkID: 'id',
  virtualNetworkCIDR: 'cidr',
} as const;

export const cloudOperations = ({ store, ...organization }: CloudRouteParts): BoundOperation[] => [
  bind(ListClouds, async ({ query, url }) => {
    const { key, direction } = query.sortBy ?? { key: 'name', direction: 'asc' };
    const list = { table: 'clouds', column: sortColumns[key], direction } as const;
    const { rows, total } = await pageOf(store, list, query);
    return {
      status: 200,
      body: { cursor: cursorOf(query, total, url), data: rows.map(cloudSummaryReply) },
    };
  }),
  bind(ShowCloud, async ({ params }) => {
    const id = params['id'] as string;
    const row = await store.selectFrom('clouds').selectAll().where('id', '=', id).executeTakeFirst();
    if (row === undefined) throw notFound(`there is no cloud ${id}`);
    return { status: 200, body: cloudReply(row, organization) };
  }),
];
