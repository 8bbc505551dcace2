// The reports of all nodes about one replication as one: each node replicates the vbuckets that are active on it.
import type { ReplicationReport } from '#xdcr/xdcr.contract.ts';

const errorsMax = 10;

/** By the id of the replication. */
export function mergedReports(reports: readonly ReplicationReport[]): ReadonlyMap<string, ReplicationReport> {
  const merged = new Map<string, ReplicationReport>();
  for (const report of reports) {
    const known = merged.get(report.id);
    merged.set(report.id, known === undefined ? report : together(known, report));
  }
  return merged;
}

function together(one: ReplicationReport, other: ReplicationReport): ReplicationReport {
  const figures: Record<string, number> = { ...one.figures };
  for (const [name, value] of Object.entries(other.figures)) figures[name] = (figures[name] ?? 0) + value;
  const errors = [...one.errors, ...other.errors].sort((a, b) => b.timeMs - a.timeMs);
  return {
    id: one.id,
    isConnected: one.isConnected || other.isConnected,
    figures,
    errors: errors.slice(0, errorsMax),
  };
}
