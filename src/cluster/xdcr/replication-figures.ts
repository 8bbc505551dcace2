// Figures of replications: as metrics of this node, and under the published names of the sample series
// (`/pools/default/buckets/<bucket>/stats`).
import { type MetricName, sampleOf } from '#metrics/catalog.ts';
import type { Labels, MetricSample } from '#metrics/sample.ts';
import type { ReplicationReport } from '#xdcr/xdcr.contract.ts';

const counters = [
  'docs_written',
  'set_docs_written',
  'deletion_docs_written',
  'expiry_docs_written',
  'docs_opt_repd',
  'docs_failed_cr_source',
  'docs_failed_cr_target',
  'set_failed_cr_source',
  'deletion_failed_cr_source',
  'expiry_failed_cr_source',
  'docs_received_from_dcp',
  'set_received_from_dcp',
  'deletion_received_from_dcp',
  'expiry_received_from_dcp',
  'docs_compression_skipped',
  'expiry_stripped',
  'docs_cloned',
  'deletion_cloned',
  'system_events_received_from_dcp',
  'seqno_adv_received_from_dcp',
  'num_checkpoints',
  'num_failedckpts',
  'target_eaccess',
  'target_tmpfail',
  'target_unknown_status',
  'docs_refused',
  'guardrail_resident_ratio',
  'guardrail_data_size',
  'guardrail_disk_space',
] as const;
const gauges = [
  'docs_filtered',
  'set_filtered',
  'deletion_filtered',
  'expiry_filtered',
  'binary_filtered',
  'atr_txn_docs_filtered',
  'client_txn_docs_filtered',
  'docs_filtered_on_txn_xattr',
  'docs_filtered_on_user_defined_filter',
  'docs_unable_to_filter',
  'docs_processed',
  'changes_left',
  'docs_checked',
  'docs_rep_queue',
  'rate_replicated',
  'rate_received_from_dcp',
  'rate_doc_opt_repd',
  'rate_doc_checks',
  'percent_completeness',
] as const;
const bytes = ['data_replicated', 'size_rep_queue', 'bandwidth_usage'] as const;
const milliseconds = ['wtavg_docs_latency', 'wtavg_meta_latency', 'time_committing'] as const;

interface FigureMetric {
  readonly metric: MetricName;
  /** The figure in the sample series is the metric times this. */
  readonly factor: number;
}

const described = <Name extends string>(names: readonly Name[], describe: (name: Name) => FigureMetric) =>
  names.map((name) => [name, describe(name)] as const);

const figures: Readonly<Record<string, FigureMetric>> = Object.fromEntries<FigureMetric>([
  ...described(counters, (name) => ({ metric: `xdcr_${name}_total`, factor: 1 })),
  ...described(gauges, (name) => ({ metric: `xdcr_${name}`, factor: 1 })),
  ...described(bytes, (name) => ({ metric: `xdcr_${name}_bytes`, factor: 1 })),
  ...described(milliseconds, (name) => ({ metric: `xdcr_${name}_seconds`, factor: 1000 })),
]);

export function* replicationMetrics(reports: readonly ReplicationReport[]): Iterable<MetricSample> {
  for (const report of reports) {
    const labels = labelsOf(report.id);
    for (const [name, { metric, factor }] of Object.entries(figures))
      yield sampleOf(metric, labels, figureIn(report, name) / factor);
  }
}

function figureIn({ figures: values }: ReplicationReport, name: string): number {
  if (name !== 'percent_completeness') return values[name] ?? 0;
  const { docs_processed: processed = 0, changes_left: left = 0 } = values;
  return processed + left === 0 ? 100 : (100 * processed) / (processed + left);
}

/** Access rights are checked by the label `bucket`. */
function labelsOf(id: string): Labels {
  const [targetClusterUUID = '', sourceBucketName = '', targetBucketName = ''] = id.split('/');
  return {
    bucket: sourceBucketName,
    sourceBucketName,
    targetClusterUUID,
    targetBucketName,
    pipelineType: 'Main',
  };
}

/** The names of the figures of each replication. */
export const replicationFigureNames: readonly string[] = Object.keys(figures);

/** The id of the replication whose figure has these labels; null: it is a figure of something else. */
export function replicationIdOf(labels: Labels): string | null {
  const { targetClusterUUID, sourceBucketName, targetBucketName } = labels;
  return targetClusterUUID === undefined
    ? null
    : `${targetClusterUUID}/${sourceBucketName}/${targetBucketName}`;
}

/** The metric behind `replications/<id>/<name>`; null: there is none of that name. */
export function replicationFigure(path: string): (FigureMetric & { readonly labels: Labels }) | null {
  const [, id = '', name = ''] = /^replications\/([^/]+\/[^/]+\/[^/]+)\/([a-z_]+)$/.exec(path) ?? [];
  const figure = Object.hasOwn(figures, name) ? figures[name] : undefined;
  return figure === undefined ? null : { ...figure, labels: labelsOf(id) };
}
