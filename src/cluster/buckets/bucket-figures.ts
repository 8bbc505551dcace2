// The figures of a bucket under their older names, computed from metrics. Counters are shown as rates.
import type { MetricName } from '#metrics/catalog.ts';
import type { Labels } from '#metrics/sample.ts';
import type { Column, SeriesGrid } from './series-grid.ts';

export type SampleFigure = (grid: SeriesGrid) => Column;

export const gauge =
  (name: MetricName, labels?: Labels): SampleFigure =>
  (grid) =>
    grid.gauge(name, labels);
export const rate =
  (name: MetricName | `${MetricName}_${'sum' | 'count'}`, labels?: Labels): SampleFigure =>
  (grid) =>
    grid.rate(name, labels);
const ops = (op: string, result?: string): SampleFigure => rate('kv_ops', result ? { op, result } : { op });
const active = { state: 'active' };

const combine =
  (figures: readonly SampleFigure[], compute: (...values: number[]) => number): SampleFigure =>
  (grid) => {
    const columns = figures.map((figure) => figure(grid));
    return (columns[0] ?? []).map((_, index) => compute(...columns.map((column) => column[index] as number)));
  };
const sum = (...figures: SampleFigure[]): SampleFigure =>
  combine(figures, (...values) => values.reduce((total, value) => total + (value || 0), 0));
const percent = (part: SampleFigure, whole: SampleFigure): SampleFigure =>
  combine([part, whole], (some, all) => (all > 0 ? Math.min((100 * some) / all, 100) : 0));
const constant =
  (value: number): SampleFigure =>
  (grid) =>
    grid.constant(value);
const scaled = (factor: number, figure: SampleFigure): SampleFigure =>
  combine([figure], (value) => factor * value);

/** The mean duration of the operations of a step, in microseconds. */
const average =
  (name: MetricName, labels: Labels = {}): SampleFigure =>
  (grid) => {
    const [seconds, count] = [grid.rate(`${name}_sum`, labels), grid.rate(`${name}_count`, labels)];
    return seconds.map((sample, index) =>
      (count[index] as number) > 0 ? (1e6 * sample) / (count[index] as number) : 0,
    );
  };

const clientFigures: Record<string, SampleFigure> = {
  cmd_get: ops('get'),
  get_hits: ops('get', 'hit'),
  get_misses: ops('get', 'miss'),
  cmd_set: ops('set'),
  delete_hits: ops('delete', 'hit'),
  delete_misses: ops('delete', 'miss'),
  incr_hits: ops('incr', 'hit'),
  incr_misses: ops('incr', 'miss'),
  decr_hits: ops('decr', 'hit'),
  decr_misses: ops('decr', 'miss'),
  cas_hits: ops('cas', 'hit'),
  cas_misses: ops('cas', 'miss'),
  cas_badval: ops('cas', 'badval'),
  ep_num_ops_get_meta: ops('get_meta'),
  ep_num_ops_set_meta: ops('set_meta'),
  ep_num_ops_del_meta: ops('del_meta'),
  xdc_ops: sum(ops('get_meta'), ops('set_meta'), ops('del_meta')),
  misses: sum(ops('get', 'miss'), ops('delete', 'miss'), ops('incr', 'miss'), ops('decr', 'miss')),
  ops: sum(
    ops('get'),
    ops('set'),
    ops('delete'),
    ops('incr'),
    ops('decr'),
    ops('get_meta'),
    ops('set_meta'),
    ops('del_meta'),
  ),
  hit_ratio: percent(ops('get', 'hit'), ops('get')),
  curr_connections: gauge('kv_curr_connections'),
  bytes_read: rate('kv_read_bytes'),
  bytes_written: rate('kv_written_bytes'),
};

const residentPercent = scaled(100, gauge('kv_vb_perc_mem_resident_ratio', active));

const memoryFigures: Record<string, SampleFigure> = {
  curr_items: gauge('kv_curr_items'),
  curr_items_tot: gauge('kv_curr_items_tot'),
  mem_used: gauge('kv_mem_used_bytes'),
  evictions: rate('kv_ep_num_value_ejects'),
  ep_num_value_ejects: rate('kv_ep_num_value_ejects'),
  ep_tmp_oom_errors: rate('kv_ep_tmp_oom_errors'),
  ep_resident_items_rate: residentPercent,
  vb_active_num: gauge('kv_num_vbuckets', active),
  vb_active_curr_items: gauge('kv_vb_curr_items', active),
  vb_active_num_non_resident: gauge('kv_vb_num_non_resident', active),
  vb_active_resident_items_ratio: residentPercent,
  vb_active_eject: rate('kv_vb_eject', active),
  ep_max_size: gauge('kv_ep_max_size'),
  ep_mem_high_wat: gauge('kv_ep_mem_high_wat'),
  ep_mem_low_wat: gauge('kv_ep_mem_low_wat'),
  ep_kv_size: gauge('kv_vb_itm_memory_bytes'),
  ep_meta_data_memory: gauge('kv_vb_meta_data_memory_bytes'),
  ep_overhead: gauge('kv_ep_overhead_bytes'),
  ep_oom_errors: rate('kv_ep_oom_errors'),
  ep_num_non_resident: gauge('kv_ep_num_non_resident'),
  ep_vb_total: gauge('kv_num_vbuckets'),
  vb_active_itm_memory: gauge('kv_vb_itm_memory_bytes', active),
  vb_active_meta_data_memory: gauge('kv_vb_meta_data_memory_bytes', active),
};

/** Figures of copies: their number and their documents. The rest is not measured by state: it is shown as zero, and the resident ratio as 100. */
const copyFigures: Record<string, SampleFigure> = Object.fromEntries(
  ['replica', 'pending'].flatMap((state) => {
    const labels = { state };
    return [
      [`vb_${state}_num`, gauge('kv_num_vbuckets', labels)],
      [`vb_${state}_curr_items`, gauge('kv_vb_curr_items', labels)],
      [`vb_${state}_num_non_resident`, gauge('kv_vb_num_non_resident', labels)],
      [`vb_${state}_resident_items_ratio`, constant(100)],
      [`vb_${state}_eject`, rate('kv_vb_eject', labels)],
      [`vb_${state}_itm_memory`, gauge('kv_vb_itm_memory_bytes', labels)],
      [`vb_${state}_meta_data_memory`, gauge('kv_vb_meta_data_memory_bytes', labels)],
      ...['ops_create', 'ops_update', 'queue_age', 'queue_drain', 'queue_fill', 'queue_size'].map(
        (name) => [`vb_${state}_${name}`, constant(0)] as const,
      ),
      [`vb_avg_${state}_queue_age`, constant(0)],
      [`vb_${state}_queue_items`, constant(0)],
    ] as const;
  }),
);

/**
 * Differences between the timestamps of writes from other nodes and clusters and the clock of the node, in microseconds, and how many
 * were beyond the thresholds.
 */
const driftFigures: Record<string, SampleFigure> = Object.fromEntries(
  (['active', 'replica'] as const).flatMap((role) => {
    const sumUs = scaled(1e6, rate(`kv_ep_${role}_hlc_drift_seconds`));
    const count = rate(`kv_ep_${role}_hlc_drift_count`);
    return [
      [`ep_${role}_hlc_drift`, sumUs],
      [`ep_${role}_hlc_drift_count`, count],
      [`ep_${role}_ahead_exceptions`, rate(`kv_ep_${role}_ahead_exceptions`)],
      [
        `avg_${role}_timestamp_drift`,
        combine([sumUs, count], (us, writes) => (writes > 0 ? us / writes : 0)),
      ],
    ] as const;
  }),
);

/** Figures of features that this node does not have: commands of older versions, hibernating requests. */
const absentFeatures: Record<string, SampleFigure> = Object.fromEntries(
  ['ep_num_ops_del_ret_meta', 'ep_num_ops_set_ret_meta', 'hibernated_requests', 'hibernated_waked'].map(
    (name) => [name, constant(0)] as const,
  ),
);

/** Kinds of change streams, as names of figures contain them, with the values that the metrics' label `connection_type` has for them. */
const streamKinds: Record<string, readonly string[]> = {
  replica: ['replication'],
  xdcr: ['xdcr'],
  fts: ['fts'],
  cbas: ['cbas'],
  '2i': ['secidx'],
  eventing: ['eventing'],
  views: ['mapreduce_view'],
  'views+indexes': ['mapreduce_view', 'secidx'],
  other: ['backup', 'other'],
};

const streamFigures: Record<string, SampleFigure> = Object.fromEntries(
  Object.entries(streamKinds).flatMap(([kind, types]) => {
    const all = (figureOf: (labels: Labels) => SampleFigure): SampleFigure =>
      sum(...types.map((connection_type) => figureOf({ connection_type })));
    const connections = all((labels) => gauge('kv_dcp_connection_count', labels));
    return [
      [`ep_dcp_${kind}_count`, connections],
      [`ep_dcp_${kind}_producer_count`, connections],
      [`ep_dcp_${kind}_items_remaining`, all((labels) => gauge('kv_dcp_items_remaining', labels))],
      [`ep_dcp_${kind}_items_sent`, all((labels) => rate('kv_dcp_items_sent', labels))],
      [`ep_dcp_${kind}_total_bytes`, all((labels) => rate('kv_dcp_total_data_size_bytes', labels))],
      [`ep_dcp_${kind}_backoff`, constant(0)],
    ] as const;
  }),
);

/** The bytes of all change streams; `views+indexes` is left out, since it repeats two other kinds. */
const allStreamBytes: SampleFigure = sum(
  ...Object.values(streamKinds)
    .filter((types) => types.length === 1 || types.includes('other'))
    .flat()
    .map((connection_type) => rate('kv_dcp_total_data_size_bytes', { connection_type })),
);

/** This node has no views. */
const viewFigures: Record<string, SampleFigure> = Object.fromEntries(
  ['actual_disk_size', 'data_size', 'disk_size', 'fragmentation', 'ops'].flatMap((name) => [
    [`couch_views_${name}`, constant(0)],
    [`couch_spatial_${name}`, constant(0)],
  ]),
);

const fragmentation: SampleFigure = combine(
  [gauge('kv_ep_db_file_size_bytes'), gauge('kv_ep_db_data_size_bytes')],
  (file, data) => (file > 0 ? (100 * Math.max(file - data, 0)) / file : 0),
);

const diskFigures: Record<string, SampleFigure> = {
  ep_queue_size: gauge('kv_ep_queue_size'),
  disk_write_queue: gauge('kv_ep_queue_size'),
  ep_diskqueue_items: gauge('kv_ep_diskqueue_items'),
  ep_diskqueue_fill: rate('kv_ep_diskqueue_fill'),
  ep_diskqueue_drain: rate('kv_ep_diskqueue_drain'),
  ep_bg_fetched: rate('kv_ep_bg_fetched'),
  ep_cache_miss_rate: percent(rate('kv_ep_bg_fetched'), ops('get')),
  ep_flusher_todo: constant(0),
  ep_item_commit_failed: rate('kv_ep_item_commit_failed'),
  ep_data_write_failed: rate('kv_ep_item_commit_failed'),
  vb_active_queue_size: gauge('kv_vb_queue_size', active),
  vb_active_queue_items: gauge('kv_vb_queue_size', active),
  vb_active_queue_fill: rate('kv_ep_diskqueue_fill'),
  vb_active_queue_drain: rate('kv_ep_diskqueue_drain'),
  disk_commit_count: rate('kv_disk_seconds_count', { op: 'commit' }),
  disk_commit_total: scaled(1e6, rate('kv_disk_seconds_sum', { op: 'commit' })),
  bg_wait_count: rate('kv_bg_wait_seconds_count'),
  bg_wait_total: scaled(1e6, rate('kv_bg_wait_seconds_sum')),
  avg_bg_wait_time: average('kv_bg_wait_seconds'),
  avg_disk_commit_time: average('kv_disk_seconds', { op: 'commit' }),
  couch_docs_data_size: gauge('kv_ep_db_data_size_bytes'),
  couch_docs_disk_size: gauge('kv_ep_db_file_size_bytes'),
  couch_docs_actual_disk_size: gauge('couch_docs_actual_disk_size'),
  couch_total_disk_size: gauge('couch_docs_actual_disk_size'),
  couch_docs_fragmentation: fragmentation,
};

export const machineFigures: Record<string, SampleFigure> = {
  cpu_utilization_rate: gauge('sys_cpu_utilization_rate'),
  cpu_user_rate: gauge('sys_cpu_user_rate'),
  cpu_sys_rate: gauge('sys_cpu_sys_rate'),
  cpu_irq_rate: gauge('sys_cpu_irq_rate'),
  cpu_stolen_rate: gauge('sys_cpu_stolen_rate'),
  mem_actual_free: gauge('sys_mem_actual_free'),
  mem_actual_used: gauge('sys_mem_actual_used'),
  mem_free: gauge('sys_mem_actual_free'),
  mem_used_sys: gauge('sys_mem_used_sys'),
  mem_total: gauge('sys_mem_total'),
  mem_limit: gauge('sys_mem_limit'),
  swap_total: gauge('sys_swap_total'),
  swap_used: gauge('sys_swap_used'),
  allocstall: gauge('sys_allocstall'),
  rest_requests: rate('cm_rest_request_enters_total'),
};

export const bucketFigures: Readonly<Record<string, SampleFigure>> = {
  ...clientFigures,
  ...memoryFigures,
  ...copyFigures,
  ...diskFigures,
  ...streamFigures,
  ...driftFigures,
  ep_clock_cas_drift_threshold_exceeded: rate('kv_ep_clock_cas_drift_threshold_exceeded'),
  ...absentFeatures,
  ep_dcp_total_bytes: allStreamBytes,
  ...viewFigures,
  ...machineFigures,
  replication_changes_left: gauge('xdcr_changes_left'),
  replication_docs_rep_queue: gauge('xdcr_docs_rep_queue'),
};

/** The metrics of the bucket that the figures need. */
export const bucketSources = [
  'xdcr_changes_left',
  'xdcr_docs_rep_queue',
  'kv_ops',
  'kv_curr_items',
  'kv_curr_items_tot',
  'kv_mem_used_bytes',
  'kv_ep_num_value_ejects',
  'kv_ep_tmp_oom_errors',
  'kv_ep_active_hlc_drift_seconds',
  'kv_ep_active_hlc_drift_count',
  'kv_ep_active_ahead_exceptions',
  'kv_ep_replica_hlc_drift_seconds',
  'kv_ep_replica_hlc_drift_count',
  'kv_ep_replica_ahead_exceptions',
  'kv_ep_clock_cas_drift_threshold_exceeded',
  'kv_vb_perc_mem_resident_ratio',
  'kv_num_vbuckets',
  'kv_vb_curr_items',
  'kv_vb_num_non_resident',
  'kv_vb_eject',
  'kv_ep_queue_size',
  'kv_ep_diskqueue_items',
  'kv_ep_diskqueue_fill',
  'kv_ep_diskqueue_drain',
  'kv_ep_bg_fetched',
  'kv_bg_wait_seconds_sum',
  'kv_bg_wait_seconds_count',
  'kv_disk_seconds_sum',
  'kv_disk_seconds_count',
  'kv_ep_db_data_size_bytes',
  'kv_ep_db_file_size_bytes',
  'couch_docs_actual_disk_size',
  'kv_ep_max_size',
  'kv_ep_mem_high_wat',
  'kv_ep_mem_low_wat',
  'kv_vb_itm_memory_bytes',
  'kv_vb_meta_data_memory_bytes',
  'kv_ep_overhead_bytes',
  'kv_ep_oom_errors',
  'kv_ep_num_non_resident',
  'kv_ep_item_commit_failed',
  'kv_vb_queue_size',
  'kv_dcp_connection_count',
  'kv_dcp_items_remaining',
  'kv_dcp_items_sent',
  'kv_dcp_total_data_size_bytes',
];
/** The metrics of the node that the figures need. */
export const nodeSources = [
  'kv_curr_connections',
  'kv_read_bytes',
  'kv_written_bytes',
  'sys_cpu_utilization_rate',
  'sys_cpu_user_rate',
  'sys_cpu_sys_rate',
  'sys_cpu_irq_rate',
  'sys_mem_used_sys',
  'sys_cpu_stolen_rate',
  'sys_mem_actual_free',
  'sys_mem_actual_used',
  'sys_mem_total',
  'sys_mem_limit',
  'sys_swap_total',
  'sys_swap_used',
  'sys_allocstall',
  'cm_rest_request_enters_total',
];
