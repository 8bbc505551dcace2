// Clouds: the providers' networks that v2 clusters live in. The operator adds them; the API lists them.
import { z } from 'zod';
import { component, dateOf, dateTime, uuidField } from '../http/component.ts';
import { defineOperation } from '../http/operation.ts';
import { cursorSchema, pageQuery, sortBy } from '../http/paging.ts';
import type { CloudRow } from '../store/tables.ts';

const cloudSummary = component('CloudSummary', {
  id: uuidField(),
  name: z.string(),
  status: z.string(),
  provider: z.string(),
  region: z.string(),
  virtualNetworkID: z.string(),
  virtualNetworkCIDR: z.string(),
});

const cloudSchema = component('Cloud', {
  id: uuidField(),
  name: z.string(),
  tenantId: uuidField(),
  status: z.string(),
  provider: z.string(),
  createdAt: dateTime(),
  updatedAt: dateTime(),
  providerSettings: z.record(z.string(), z.string()).meta({ id: 'CloudProviderSettings' }),
  version: component('CloudVersion', { name: z.string(), components: z.record(z.string(), z.string()) }),
});

export const cloudSortKeys = [
  'id',
  'name',
  'status',
  'provider',
  'region',
  'virtualNetworkID',
  'virtualNetworkCIDR',
] as const;

export const ListClouds = defineOperation({
  id: 'clouds/list',
  method: 'GET',
  path: '/v2/clouds',
  doc: 'The organization’s clouds.',
  access: 'token',
  query: z.strictObject({ ...pageQuery, sortBy: sortBy(cloudSortKeys) }),
  replies: {
    200: {
      doc: 'A page',
      body: component('ListCloudsResponse', { cursor: cursorSchema, data: z.array(cloudSummary) }),
    },
  },
});

export const ShowCloud = defineOperation({
  id: 'clouds/show',
  method: 'GET',
  path: '/v2/clouds/{id}',
  doc: 'One cloud.',
  access: 'token',
  replies: { 200: { doc: 'The cloud', body: cloudSchema } },
});

/** The network’s id is the cloud’s own: there is no provider that would have made another. */
export const cloudSummaryReply = (row: CloudRow): z.output<typeof cloudSummary> => ({
  id: row.id,
  name: row.name,
  status: row.status,
  provider: row.provider,
  region: row.region,
  virtualNetworkID: row.id,
  virtualNetworkCIDR: row.cidr,
});

export function cloudReply(
  row: CloudRow,
  { tenantId, version }: { tenantId: string; version: string },
): z.output<typeof cloudSchema> {
  const network = row.provider === 'azure' ? { vNetCidr: row.cidr } : { vpcCidr: row.cidr, vpcId: row.id };
  return {
    id: row.id,
    name: row.name,
    tenantId,
    status: row.status,
    provider: row.provider,
    createdAt: dateOf(row.created_at),
    updatedAt: dateOf(row.created_at),
    providerSettings: { region: row.region, ...network },
    version: { name: version, components: { divan: version } },
  };
}
