// Clouds: provider networks that contain v2 clusters. The operator adds them; the API lists them.
import { z } from 'zod';
import { choice, component, dateOf, dateTime, uuidField } from '../answers/component.ts';
import { cursorSchema, pageQuery, sortBy } from '../answers/paging.ts';
import { defineOperation } from '../http/operation.ts';
import type { CloudRow } from '../store/tables.ts';

const cloudStatus = choice('cloudStatus', [
  'needs_bootstrap',
  'preflight_started',
  'preflight_failed',
  'preflight_succeeded',
  'bootstrap_succeeded',
  'deploying',
  'deploy_failed',
  'deploy_succeeded',
  'ready',
  'destroying',
  'destroy_failed',
  'destroy_succeeded',
  'needs_cleanup',
  'management_blocked',
  'upgrading',
]);
const provider = choice('provider', ['aws', 'gcp', 'azure']);
/** For aws and azure a published region; for gcp, which has no published list, any name from the operator. */
const regions = z.string().meta({ id: 'Regions' });

const cloudProviderSettings = z
  .union([
    component('AWSProviderSettings', { region: regions, vpcCidr: z.string(), vpcId: z.string() }),
    component('AzureProviderSettings', { region: regions, vNetCidr: z.string() }),
  ])
  .meta({ id: 'CloudProviderSettings' });

const cloudSummary = component('CloudSummary', {
  id: uuidField(),
  name: z.string(),
  status: cloudStatus,
  provider,
  region: regions,
  virtualNetworkID: z.string(),
  virtualNetworkCIDR: z.string(),
});

const cloudSchema = component('Cloud', {
  id: uuidField(),
  name: z.string(),
  tenantId: uuidField(),
  status: cloudStatus,
  provider,
  createdAt: dateTime(),
  updatedAt: dateTime(),
  providerSettings: cloudProviderSettings,
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
  needs: 'any',
  fromStore: true,
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
  needs: 'any',
  fromStore: true,
  replies: { 200: { doc: 'The cloud', body: cloudSchema } },
});

/** The network has the id of the cloud, since no network exists at a provider. */
export const cloudSummaryReply = (row: CloudRow): z.output<typeof cloudSummary> => ({
  id: row.id,
  name: row.name,
  status: row.status as z.output<typeof cloudStatus>,
  provider: row.provider as z.output<typeof provider>,
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
    status: row.status as z.output<typeof cloudStatus>,
    provider: row.provider as z.output<typeof provider>,
    createdAt: dateOf(row.created_at),
    updatedAt: dateOf(row.created_at),
    providerSettings: { region: row.region, ...network },
    version: { name: version, components: { divan: version } },
  };
}
