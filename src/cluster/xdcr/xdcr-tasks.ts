// A replication in the list of background tasks.
import type { ReplicationReport } from '#xdcr/xdcr.contract.ts';
import { targetUri } from './xdcr.contract.ts';
import type { StoredReplication } from './xdcr-state.ts';

/** How often clients are to read the task. */
const refreshSeconds = 10;

/** The task of a replication. `report` is undefined before the replication was started. */
export function replicationTask(replication: StoredReplication, report: ReplicationReport | undefined) {
  const { id, fromBucket, clusterUuid, toBucket, settings, pauseRequested } = replication;
  const encoded = encodeURIComponent(id);
  const count = (name: string): number => Math.round(report?.figures[name] ?? 0);
  return {
    type: 'xdcr',
    recommendedRefreshPeriod: refreshSeconds,
    cancelURI: `/controller/cancelXDCR/${encoded}`,
    settingsURI: `/settings/replications/${encoded}`,
    status: statusOf(pauseRequested, report),
    replicationType: 'xmem',
    continuous: true,
    id,
    source: fromBucket,
    target: targetUri(clusterUuid, toBucket),
    pauseRequested,
    filterExpression: settings.filterExpression,
    filterDeletion: settings.filterDeletion,
    filterExpiration: settings.filterExpiration,
    filterBypassExpiry: settings.filterBypassExpiry,
    filterBinary: settings.filterBinary,
    ...(report !== undefined && {
      changesLeft: count('changes_left'),
      docsChecked: count('docs_checked'),
      docsWritten: count('docs_written'),
      // Published servers send these two values.
      maxVBReps: pauseRequested ? 0 : null,
      errors: report.errors.map(({ timeMs, text }) => `${shownTime(timeMs)} ${text}`),
    }),
  };
}

/** `paused` only when the connections are closed: until then the replication still sends documents. */
function statusOf(pauseRequested: boolean, report: ReplicationReport | undefined): string {
  if (report === undefined) return 'notRunning';
  return pauseRequested && !report.isConnected ? 'paused' : 'running';
}

const shownTime = (timeMs: number): string =>
  new Date(timeMs).toISOString().replace('T', ' ').replace(/\..*$/, '');
