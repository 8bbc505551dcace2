// Statistics of indexes under their published names, which monitoring tools read.
import type { IndexDefinition } from '../index.contract.ts';
import type { ShownIndex } from './index-records.contract.ts';

export interface ServiceFigures {
  readonly memoryQuotaBytes: number;
}

export type Statistics = Readonly<Record<string, number | string>>;

/** Statistics of the whole service. */
export function serviceStatistics(indexes: readonly ShownIndex[], figures: ServiceFigures): Statistics {
  const bytes = indexes.reduce((sum, { report }) => sum + (report?.fileBytes ?? 0), 0);
  return {
    indexer_state: 'Active',
    memory_quota: figures.memoryQuotaBytes,
    memory_total_storage: bytes,
  };
}

/** Statistics of one index; those that are not measured are absent. Durations and times are in nanoseconds. */
export function indexStatistics({ report }: ShownIndex): Statistics {
  if (report === undefined) return {};
  const { scans, scannedRows, scanMicros, rows, fileBytes, progress } = report;
  return {
    items_count: rows,
    num_docs_indexed: report.documentsProcessed,
    num_docs_pending: report.documentsWaiting,
    num_docs_queued: 0,
    num_items_skipped: report.leftOut,
    num_requests: scans,
    num_rows_returned: scannedRows,
    num_rows_scanned: scannedRows,
    total_scan_duration: scanMicros * 1_000,
    avg_scan_latency: scans === 0 ? 0 : Math.round((scanMicros * 1_000) / scans),
    data_size: fileBytes,
    disk_size: fileBytes,
    initial_build_progress: progress,
    last_known_scan_time: report.lastScanMs * 1e6,
  };
}

/** `bucket:scope:collection:index`; scope and collection are omitted for the default collection. */
export function statisticsName({ name, keyspace }: IndexDefinition): string {
  const { bucket, scope, collection } = keyspace.name;
  const isDefault = scope === '_default' && collection === '_default';
  return (isDefault ? [bucket, name] : [bucket, scope, collection, name]).join(':');
}

/** Whether an index belongs to `bucket`, `bucket.scope` or `bucket.scope.collection`. */
export function isOfKeyspace({ keyspace }: IndexDefinition, path: string): boolean {
  const { bucket, scope, collection } = keyspace.name;
  return [bucket, `${bucket}.${scope}`, `${bucket}.${scope}.${collection}`].includes(path);
}
