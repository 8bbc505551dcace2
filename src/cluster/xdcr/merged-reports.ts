// Merges the reports of all nodes about one replication: each node replicates the vbuckets that are active on it.
import type { ReplicationReport } from '#xdcr/xdcr.contract.ts';

const errorsMax = 10;

/** By the id of the replication. */
export function mergedReports(reports: readonly ReplicationReport[]): ReadonlyMap<string, ReplicationReport> {
  const byId = new Map<string, ReplicationReport>();
  for (const report of reports) {
    const merged = byId.get(report.id);
    byId.set(report.id, merged === undefined ? report : merge(merged, report));
  }
  return byId;
}

function merge(first: ReplicationReport, second: ReplicationReport): ReplicationReport {
  const figures: Record<string, number> = { ...first.figures };
  for (const [name, value] of Object.entries(second.figures)) figures[name] = (figures[name] ?? 0) + value;
  const errors = [...first.errors, ...second.errors].sort((a, b) => b.timeMs - a.timeMs);
  return {
    id: first.id,
    isConnected: first.isConnected || second.isConnected,
    figures,
    errors: errors.slice(0, errorsMax),
  };
}
