// The memory for buckets is the same on all nodes with the data service, so it must fit the smallest of them.

import { memoryForData } from '../clusters/node-rows.ts';
import { membershipOf, setMemoryQuota } from '../node-client/membership.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import type { NodeRow } from '../store/tables.ts';

/** Called before a smaller node joins. */
export async function lowerQuota(founder: NodeClient, rows: readonly NodeRow[]): Promise<void> {
  const least = memoryForData(rows);
  const { memoryQuota } = await membershipOf(founder);
  if (least < memoryQuota) await setMemoryQuota(founder, least);
}

/** Called once the cluster has all its nodes. */
export async function fitQuota(founder: NodeClient, rows: readonly NodeRow[]): Promise<void> {
  const least = memoryForData(rows);
  const { memoryQuota } = await membershipOf(founder);
  if (least !== memoryQuota) await setMemoryQuota(founder, least);
}
