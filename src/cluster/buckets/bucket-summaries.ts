// The use of the cluster's memory and disk if the bucket had the validated parameters; part of every validation.

export interface SummaryInput {
  memoryQuotaMb: number;
  /** The sum of the quotas of all other buckets. */
  othersMb: number;
  /** The quota of this bucket; null: none or an invalid one was sent. */
  quotaMb: number | null;
  nodes: number;
  /** The use of this bucket on all data nodes. */
  memUsedBytes: number;
  diskUsedBytes: number;
  disk: { totalBytes: number; usedBytes: number; usedByDataBytes: number };
}

const mib = 1024 * 1024;

export function bucketSummaries(input: SummaryInput) {
  const perCluster = mib * input.nodes;
  const total = input.memoryQuotaMb * perCluster;
  const otherBuckets = input.othersMb * perCluster;
  const thisAlloc = (input.quotaMb ?? 0) * perCluster;
  const { totalBytes, usedBytes, usedByDataBytes } = input.disk;
  return {
    ramSummary: {
      total,
      otherBuckets,
      nodesCount: input.nodes,
      perNodeMegs: input.quotaMb ?? 0,
      thisAlloc,
      thisUsed: input.memUsedBytes,
      free: total - otherBuckets - thisAlloc,
    },
    hddSummary: {
      total: totalBytes,
      otherData: Math.max(usedBytes - usedByDataBytes, 0),
      otherBuckets: Math.max(usedByDataBytes - input.diskUsedBytes, 0),
      thisUsed: input.diskUsedBytes,
      free: Math.max(totalBytes - usedBytes, 0),
    },
  };
}
