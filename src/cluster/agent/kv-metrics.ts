// Converts reports of the data service to metrics.
import { durationBounds } from '#base/duration-histogram.ts';
import {
  type BucketReport,
  type DocumentCounts,
  type DurationFigures,
  highWatermarkShare,
  type KvReport,
  lowWatermarkShare,
  noCounts,
} from '#kv/admin.ts';
import { histogramOf, type MetricName, sampleOf } from '#metrics/catalog.ts';
import type { Labels, MetricSample } from '#metrics/sample.ts';
import type { ManifestState } from '../config/cluster-state.ts';

/** Facts of the configuration about a reported bucket. */
export interface BucketFacts {
  quotaBytes: number;
  evictsNothing: boolean;
  manifest: ManifestState;
}

/** Leaves out buckets of which the configuration has no facts: they are being deleted. */
export function* kvMetrics(
  report: KvReport,
  factsOf: (uuid: string) => BucketFacts | null,
): Generator<MetricSample> {
  yield* portMetrics(report);
  for (const bucket of report.buckets) {
    const facts = factsOf(bucket.uuid);
    if (facts) yield* bucketMetrics(bucket, facts);
  }
}

function* portMetrics({ connections, traffic }: KvReport): Generator<MetricSample> {
  yield sampleOf('kv_curr_connections', {}, connections);
  yield sampleOf('kv_total_connections', {}, traffic.connections);
  yield sampleOf('kv_rejected_conns', {}, traffic.rejected);
  yield sampleOf('kv_auth_cmds', {}, traffic.logins + traffic.refusedLogins);
  yield sampleOf('kv_auth_errors', {}, traffic.refusedLogins);
  yield sampleOf('kv_read_bytes', {}, traffic.readBytes);
  yield sampleOf('kv_written_bytes', {}, traffic.writtenBytes);
}

function* bucketMetrics(report: BucketReport, facts: BucketFacts): Generator<MetricSample> {
  const labels = { bucket: report.name };
  for (const [more, value] of operations(report)) yield sampleOf('kv_ops', { ...labels, ...more }, value);
  yield sampleOf('kv_ops_failed', { ...labels, op: 'set_meta' }, report.metaRejects);
  for (const [name, value] of Object.entries(bucketFigures(report, facts)))
    yield sampleOf(name as MetricName, labels, value);
  for (const [name, value] of Object.entries(activeFigures(report)))
    yield sampleOf(name as MetricName, { ...labels, state: 'active' }, value);
  yield* copyMetrics(report, labels);
  yield* durationMetrics(report, labels);
  yield* streamMetrics(report, labels);
  yield* collectionMetrics(report, facts.manifest);
}

function operations(report: BucketReport): [Labels, number][] {
  return [
    [{ op: 'get', result: 'hit' }, report.getHits],
    [{ op: 'get', result: 'miss' }, report.gets - report.getHits],
    [{ op: 'set' }, report.sets],
    [{ op: 'delete', result: 'hit' }, report.deletes],
    [{ op: 'delete', result: 'miss' }, report.deleteMisses],
    [{ op: 'incr', result: 'hit' }, report.increments],
    [{ op: 'incr', result: 'miss' }, report.incrementMisses],
    [{ op: 'decr', result: 'hit' }, report.decrements],
    [{ op: 'decr', result: 'miss' }, report.decrementMisses],
    [{ op: 'cas', result: 'hit' }, report.casHits],
    [{ op: 'cas', result: 'miss' }, report.casMisses],
    [{ op: 'cas', result: 'badval' }, report.casBadValues],
    [{ op: 'get_meta' }, report.metaGets],
    [{ op: 'set_meta' }, report.metaSets],
    [{ op: 'del_meta' }, report.metaDeletes],
  ];
}

function bucketFigures(
  report: BucketReport,
  { quotaBytes, evictsNothing }: BucketFacts,
): Partial<Record<MetricName, number>> {
  const { activity } = report;
  return {
    kv_lock_errors: report.lockErrors,
    kv_curr_items: report.items,
    kv_curr_items_tot: report.items + report.vbuckets.replica.items + report.vbuckets.pending.items,
    kv_ep_num_non_resident: report.nonResident,
    kv_mem_used_bytes: report.memUsed,
    kv_ep_max_size: quotaBytes,
    kv_ep_mem_high_wat: quotaBytes * highWatermarkShare,
    kv_ep_mem_low_wat: quotaBytes * lowWatermarkShare,
    kv_ep_overhead_bytes: activity.memory.overhead,
    kv_ep_oom_errors: evictsNothing ? activity.memoryRefusals : 0,
    kv_ep_item_commit_failed: activity.failedCommits,
    ...driftFigures(activity.drift),
    kv_ep_num_value_ejects: report.evictions,
    kv_ep_tmp_oom_errors: activity.memoryRefusals,
    kv_ep_item_compressor_num_visited: activity.compression.visited,
    kv_ep_item_compressor_num_compressed: activity.compression.compressed,
    kv_ep_bg_fetched: report.diskFetches,
    kv_ep_queue_size: report.dirtyItems,
    kv_ep_diskqueue_items: report.dirtyItems,
    kv_ep_diskqueue_fill: activity.queued,
    kv_ep_diskqueue_drain: Math.max(activity.queued - report.dirtyItems, 0),
    kv_ep_db_data_size_bytes: report.dataBytes,
    kv_ep_db_file_size_bytes: report.diskBytes,
    kv_bucket_damaged_files: report.damaged.length,
    kv_bucket_writes_refused: report.writeFailure === null ? 0 : 1,
    kv_ep_pending_compactions: report.compaction ? 1 : 0,
    couch_docs_actual_disk_size: report.diskBytes,
  };
}

/** Differences between the timestamps of writes and the clock of this node, in seconds, and numbers of writes. */
const driftFigures = ({ active, replica }: BucketReport['activity']['drift']) => ({
  kv_ep_active_hlc_drift_seconds: active.us / 1e6,
  kv_ep_active_hlc_drift_count: active.writes,
  kv_ep_active_ahead_exceptions: active.ahead,
  kv_ep_active_behind_exceptions: active.behind,
  kv_ep_replica_hlc_drift_seconds: replica.us / 1e6,
  kv_ep_replica_hlc_drift_count: replica.writes,
  kv_ep_replica_ahead_exceptions: replica.ahead,
  kv_ep_replica_behind_exceptions: replica.behind,
  kv_ep_clock_cas_drift_threshold_exceeded: active.ahead + replica.ahead,
});

/** Metrics with the label `state="active"`. Of copies, only the numbers of vbuckets and documents are known (`copyMetrics`). */
function activeFigures({
  vbuckets,
  items,
  nonResident,
  expired,
  evictions,
  dirtyItems,
  activity,
}: BucketReport): Partial<Record<MetricName, number>> {
  return {
    kv_num_vbuckets: vbuckets.active.vbuckets,
    kv_vb_curr_items: items,
    kv_vb_num_non_resident: nonResident,
    kv_vb_perc_mem_resident_ratio: items === 0 ? 1 : Math.max(items - nonResident, 0) / items,
    kv_vb_expired: expired,
    kv_vb_eject: evictions,
    kv_vb_queue_size: dirtyItems,
    kv_vb_queue_memory_bytes: activity.dirtyBytes,
    kv_vb_itm_memory_bytes: activity.memory.items,
    kv_vb_meta_data_memory_bytes: activity.memory.meta,
  };
}

/** Metrics of the copies on this node, whose active vbuckets are on other nodes. */
function* copyMetrics({ vbuckets }: BucketReport, labels: Labels): Generator<MetricSample> {
  for (const state of ['replica', 'pending'] as const) {
    const counts = vbuckets[state];
    if (counts.vbuckets === 0) continue;
    yield sampleOf('kv_num_vbuckets', { ...labels, state }, counts.vbuckets);
    yield sampleOf('kv_vb_curr_items', { ...labels, state }, counts.items);
  }
}

function* durationMetrics({ activity }: BucketReport, labels: Labels): Generator<MetricSample> {
  const durations = (name: MetricName, more: Labels, { counts, sum }: DurationFigures) =>
    histogramOf(name, { ...labels, ...more }, { bounds: durationBounds, counts, sum });
  yield durations('kv_disk_seconds', { op: 'commit' }, activity.commit);
  yield durations('kv_bg_wait_seconds', {}, activity.fetchWait);
  yield durations('kv_bg_load_seconds', {}, activity.fetch);
}

function* streamMetrics({ activity }: BucketReport, labels: Labels): Generator<MetricSample> {
  for (const [kind, { connections, itemsSent, bytesSent, itemsRemaining }] of Object.entries(
    activity.streams,
  )) {
    const ofKind = { ...labels, connection_type: kind };
    yield sampleOf('kv_dcp_connection_count', ofKind, connections);
    yield sampleOf('kv_dcp_items_sent', ofKind, itemsSent);
    yield sampleOf('kv_dcp_items_remaining', ofKind, itemsRemaining);
    yield sampleOf('kv_dcp_total_data_size_bytes', ofKind, bytesSent);
  }
}

function* collectionMetrics(report: BucketReport, { scopes }: ManifestState): Generator<MetricSample> {
  for (const scope of scopes) {
    for (const { name, uid, maxTTL } of scope.collections) {
      const labels = { bucket: report.name, scope: scope.name, collection: name };
      yield sampleOf('kv_collection_item_count', labels, report.collectionItems[uid] ?? 0);
      if (maxTTL !== undefined) yield sampleOf('kv_collection_maxTTL_seconds', labels, maxTTL);
      const counts = report.activity.collections[uid] ?? noCounts();
      yield sampleOf('kv_collection_ops', { ...labels, op: 'get' }, counts.gets);
      yield sampleOf('kv_collection_ops', { ...labels, op: 'store' }, storesOf(counts));
      yield sampleOf('kv_collection_ops', { ...labels, op: 'delete' }, counts.deletes);
    }
  }
}

const storesOf = ({ sets, increments, decrements }: DocumentCounts): number => sets + increments + decrements;
