// Memory quotas of services: minima, the limit of a node, and defaults. Megabytes per node.

export const quotaMinimaMb = {
  memoryQuota: 256,
  indexMemoryQuota: 256,
  ftsMemoryQuota: 256,
  cbasMemoryQuota: 1024,
  eventingMemoryQuota: 256,
} as const;
export type QuotaName = keyof typeof quotaMinimaMb;
export const quotaNames = Object.keys(quotaMinimaMb) as QuotaName[];

export const quotaServices: Record<QuotaName, string> = {
  memoryQuota: 'data',
  indexMemoryQuota: 'index',
  ftsMemoryQuota: 'full text search',
  cbasMemoryQuota: 'analytics',
  eventingMemoryQuota: 'eventing',
};

/** The largest quota that is accepted: so sums of quotas, in bytes, are exact numbers. */
export const quotaMbMax = 2 ** 32;

const mib = 1024 * 1024;

/** The limit of all services of a node together: all memory but 1 GiB, or 80 % if that is more. */
export function nodeQuotaMaxMb(memoryBytes: number): number {
  const totalMb = Math.floor(memoryBytes / mib);
  return Math.max(totalMb - 1024, Math.floor((totalMb * 80) / 100));
}

/**
 * The published arithmetic: the index service gets 512 MiB, and every other service its minimum. Of the limit of the node, less the minima of data,
 * analytics and search, these three get shares in turn, search 512 MiB in total at most. The rest is left for services that are added later.
 */
export function defaultQuotasMb(memoryBytes: number): Record<QuotaName, number> {
  let leftMb = nodeQuotaMaxMb(memoryBytes);
  const quotas: Record<QuotaName, number> = { ...quotaMinimaMb, indexMemoryQuota: 512 };
  for (const name of ['memoryQuota', 'cbasMemoryQuota', 'ftsMemoryQuota'] as const) {
    leftMb -= quotaMinimaMb[name];
  }
  const give = (name: QuotaName, shareMb: number) => {
    const givenMb = Math.max(Math.min(Math.floor(shareMb), leftMb), 0);
    quotas[name] += givenMb;
    leftMb -= givenMb;
  };
  give('memoryQuota', (leftMb * 3) / 5);
  give('cbasMemoryQuota', leftMb / 5);
  give('ftsMemoryQuota', Math.min(leftMb / 5, 512 - quotaMinimaMb.ftsMemoryQuota));
  return quotas;
}
