// Figures of the index service as metrics. A node without indexes, or without the index and query services, has no such metrics.
import type { IndexReport, IndexServiceAdmin } from '#index/index.contract.ts';
import { type MetricName, sampleOf } from '#metrics/catalog.ts';
import type { Labels, MetricSample } from '#metrics/sample.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { type IndexesService, keepsIndexes } from './indexes.service.ts';

export interface IndexMetricsParts {
  readonly indexes: Pick<IndexesService, 'all'>;
  readonly indexAdmin: Pick<IndexServiceAdmin, 'reports' | 'refresh'>;
  readonly view: ClusterView;
}

const mib = 1024 * 1024;

export async function indexMetrics(parts: IndexMetricsParts): Promise<Iterable<MetricSample>> {
  if (!keepsIndexes(parts.view.self) || parts.indexes.all().length === 0) return [];
  await parts.indexAdmin.refresh();
  return samplesOf(parts);
}

function* samplesOf({ indexes, indexAdmin, view }: IndexMetricsParts): Iterable<MetricSample> {
  const all = indexes.all();
  yield sampleOf('index_num_indexes', {}, all.length);
  yield sampleOf('index_memory_quota', {}, view.cluster.quotas.indexMemoryQuota * mib);
  const reports = new Map(indexAdmin.reports().map((report) => [report.id, report]));
  for (const { definition } of all) {
    const report = reports.get(definition.id);
    if (report === undefined) continue;
    const { bucket, scope, collection } = definition.keyspace.name;
    yield* figuresOf({ bucket, scope, collection, index: definition.name }, report);
  }
}

function* figuresOf(labels: Labels, report: IndexReport): Iterable<MetricSample> {
  const figures: Partial<Record<MetricName, number>> = {
    index_items_count: report.rows,
    index_num_docs_indexed: report.documentsProcessed,
    index_num_docs_pending: report.documentsWaiting,
    index_num_items_skipped: report.leftOut,
    index_num_requests: report.scans,
    index_num_rows_returned: report.scannedRows,
    index_total_scan_duration: report.scanMicros * 1_000,
    index_disk_size: report.fileBytes,
    index_data_size: report.fileBytes,
    index_initial_build_progress: report.progress,
  };
  for (const [name, value] of Object.entries(figures)) yield sampleOf(name as MetricName, labels, value);
}
