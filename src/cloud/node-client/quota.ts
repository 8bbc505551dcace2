// The memory for buckets on each node of a cluster, and the error text when it does not suffice.
import type { NodeClient } from './node-client.ts';

const mb = 1024 * 1024;

export interface Quota {
  readonly totalMb: number;
  readonly freeMb: number;
}

export async function quotaOf(client: NodeClient): Promise<Quota> {
  const { storageTotals } = JSON.parse(await client.request('GET', '/pools/default')) as {
    storageTotals: { ram: { quotaTotalPerNode: number; quotaUsedPerNode: number } };
  };
  const { quotaTotalPerNode: total, quotaUsedPerNode: used } = storageTotals.ram;
  return { totalMb: total / mb, freeMb: (total - used) / mb };
}

/** States the free memory and what the caller can do about it; `advice` comes first. */
export const freeText = ({ totalMb, freeMb }: Quota, advice = ''): string =>
  `${freeMb} of the ${totalMb} MB of the cluster are free: ${advice}shrink or delete other buckets`;
