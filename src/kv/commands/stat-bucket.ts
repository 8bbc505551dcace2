// Groups of STAT about a whole bucket.
import type { DurationHistogram } from '#base/duration-histogram.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { Request } from '../dispatch/request.ts';
import { bodyBytesMax } from '../value/xattrs.ts';
import { highWatermarkShare, lowWatermarkShare } from '../watermarks.ts';
import { type Figures, vbucketsIn } from './stat-figures.ts';
import { statInfo } from './stat-node.ts';

/** The group without a name. */
export function* statTotals(request: Request): Figures {
  const { bucket } = request;
  const report = bucket.report();
  yield* statInfo(request);
  yield ['curr_items', report.items];
  const { replica, pending } = report.vbuckets;
  yield ['curr_items_tot', report.items + replica.items + pending.items];
  yield ['vb_active_num', vbucketsIn(bucket.documents, VbucketState.active).length];
  yield ['vb_replica_num', vbucketsIn(bucket.documents, VbucketState.replica).length];
  yield ['vb_pending_num', vbucketsIn(bucket.documents, VbucketState.pending).length];
  yield ['vb_active_curr_items', report.items];
  yield ['vb_replica_curr_items', replica.items];
  yield ['vb_pending_curr_items', pending.items];
  yield* memoryFigures(request, report.memUsed);
  yield ['ep_num_non_resident', report.nonResident];
  yield ['vb_active_num_non_resident', report.nonResident];
  yield ['vb_active_perc_mem_resident', residentPercent(report)];
  yield ['ep_num_value_ejects', report.evictions];
  yield ['ep_bg_fetched', report.diskFetches];
  yield ['ep_bucket_type', bucketType(request)];
  yield ['ep_queue_size', report.dirtyItems];
  yield ['ep_degraded_mode', bucket.documents ? 0 : 1];
  yield ['ep_expired_access', report.expired];
  yield ['cmd_get', report.gets];
  yield ['cmd_set', report.sets];
  yield ['get_hits', report.getHits];
  yield ['get_misses', report.gets - report.getHits];
  yield ['delete_hits', report.deletes];
  yield ['ep_num_ops_get_meta', report.metaGets];
  yield ['ep_num_ops_set_meta', report.metaSets];
  yield ['ep_num_ops_del_meta', report.metaDeletes];
  yield ['ep_num_ops_set_meta_res_fail', report.metaRejects];
  const { compression, drift } = bucket.activity();
  yield ['ep_item_compressor_num_visited', compression.visited];
  yield ['ep_item_compressor_num_compressed', compression.compressed];
  for (const [role, { ahead, behind, us, writes }] of Object.entries(drift)) {
    yield [`ep_${role}_hlc_drift`, us];
    yield [`ep_${role}_hlc_drift_count`, writes];
    yield [`ep_${role}_ahead_exceptions`, ahead];
    yield [`ep_${role}_behind_exceptions`, behind];
  }
  yield ['ep_clock_cas_drift_threshold_exceeded', drift.active.ahead + drift.replica.ahead];
}

/** `memory`. */
export const statMemory = (request: Request): Figures =>
  memoryFigures(request, request.bucket.report().memUsed);

function* memoryFigures({ bucket }: Request, memUsed: number): Figures {
  const { memory, memoryRefusals } = bucket.activity();
  const { quotaBytes, evictionPolicy } = bucket.spec;
  yield ['mem_used', memUsed];
  yield ['ep_kv_size', memory.items];
  yield ['ep_meta_data_memory', memory.meta];
  yield ['ep_overhead', memory.overhead];
  yield ['ep_oom_errors', evictionPolicy === 'noEviction' ? memoryRefusals : 0];
  yield ['ep_tmp_oom_errors', memoryRefusals];
  yield ['ep_max_size', quotaBytes];
  yield ['ep_mem_high_wat', Math.floor(quotaBytes * highWatermarkShare)];
  yield ['ep_mem_low_wat', Math.floor(quotaBytes * lowWatermarkShare)];
}

/** `diskinfo`: the sizes of the last report to the manager, which is made every few seconds. */
export function* statDisk({ bucket }: Request): Figures {
  const { dataBytes, diskBytes, freeDiskBytes } = bucket.report();
  yield ['ep_db_data_size', dataBytes];
  yield ['ep_db_file_size', diskBytes];
  yield ['ep_db_free_size', freeDiskBytes];
}

const policies = {
  valueOnly: 'value_only',
  fullEviction: 'full_eviction',
  noEviction: 'fail_new_data',
  nruEviction: 'auto_delete',
} as const;

/** `config`: the current settings of the bucket. */
export function* statConfig(request: Request): Figures {
  const { bucket } = request;
  const { spec } = bucket;
  const isNative = spec.type === 'native';
  yield ['ep_couch_bucket', bucket.name];
  yield ['ep_uuid', bucket.uuid];
  yield ['ep_bucket_type', bucketType(request)];
  yield ['ep_max_size', spec.quotaBytes];
  yield ['ep_max_item_size', bodyBytesMax];
  yield ['ep_max_ttl', spec.maxTtl];
  yield ['ep_max_vbuckets', bucket.documents?.vbucketCount ?? 0];
  yield [isNative ? 'ep_item_eviction_policy' : 'ep_ephemeral_full_policy', policies[spec.evictionPolicy]];
  yield ['ep_compression_mode', spec.compressionMode];
  yield ['ep_conflict_resolution_type', spec.conflictResolution];
  yield ['ep_durability_min_level', spec.durabilityMinLevel];
}

const warmUpStates = {
  opening: 'initialize',
  keys: 'loading keys',
  values: 'loading data',
  done: 'done',
} as const;

/** `warmup`. */
export function* statWarmUp({ bucket }: Request): Figures {
  const warmUp = bucket.warmUp();
  yield ['ep_warmup', warmUp ? 'enabled' : 'disabled'];
  yield ['ep_warmup_state', warmUpStates[warmUp?.state ?? 'done']];
  yield ['ep_warmup_thread', (warmUp?.state ?? 'done') === 'done' ? 'complete' : 'running'];
  yield ['ep_warmup_key_count', warmUp?.keys ?? 0];
  yield ['ep_warmup_value_count', warmUp?.values ?? 0];
  if (!warmUp) return;
  yield ['ep_warmup_estimated_key_count', warmUp.expected];
  yield ['ep_warmup_estimated_value_count', warmUp.expected];
  yield ['ep_warmup_keys_time', Math.round(warmUp.keysMs * 1000)];
  yield ['ep_warmup_time', Math.round(warmUp.ms * 1000)];
}

/** `tasks`: the running background tasks. */
export function* statTasks({ bucket }: Request): Figures {
  const compaction = bucket.engine?.compaction.progress;
  const tasks = compaction
    ? [{ name: 'Compaction', bucket: bucket.name, state: 'RUNNING', ...compaction }]
    : [];
  yield ['ep_tasks:tasks', JSON.stringify(tasks)];
}

/** `timings`: histograms of durations in microseconds. */
export function* statTimings({ bucket }: Request): Figures {
  const timings = bucket.engine?.timings;
  if (!timings) return;
  yield* rangesOf('disk_commit', timings.commit);
  yield* rangesOf('bg_wait', timings.fetchWait);
  yield* rangesOf('bg_load', timings.fetch);
}

function* rangesOf(name: string, histogram: DurationHistogram): Figures {
  for (const { from, to, count } of histogram.ranges()) yield [`${name}_${from},${to}`, count];
}

const bucketType = ({ bucket }: Request): string =>
  bucket.spec.type === 'native' ? 'persistent' : 'ephemeral';

function residentPercent({ items, nonResident }: { items: number; nonResident: number }): number {
  return items === 0 ? 100 : Math.floor((100 * (items - Math.min(nonResident, items))) / items);
}
