// All metrics that this node measures, under the names of the public metrics of the 7.x line, so that dashboards and alerts
// made for them work.
import type { Labels, MetricSample } from './sample.ts';

interface Metric {
  readonly kind: MetricSample['kind'];
  readonly help: string;
}

const counter = (help: string): Metric => ({ kind: 'counter', help });
const gauge = (help: string): Metric => ({ kind: 'gauge', help });
const histogram = (help: string): Metric => ({ kind: 'histogram', help });

const documents = {
  kv_ops: counter('Operations on documents by kind and result'),
  kv_ops_failed: counter('Writes with metadata (XDCR) that lost conflict resolution'),
  kv_lock_errors: counter('Operations refused because the document is locked'),
  kv_collection_ops: counter('Reads, writes and deletions of documents in a collection'),
  kv_collection_item_count: gauge('Documents in a collection'),
  kv_collection_maxTTL_seconds: gauge('maxTTL of a collection, where one is set'),
  kv_curr_items: gauge('Documents in active vbuckets, in memory or not'),
  kv_curr_items_tot: gauge('Documents in all vbuckets'),
  kv_num_vbuckets: gauge('Vbuckets by state'),
  kv_vb_curr_items: gauge('Documents by state of their vbuckets'),
  kv_vb_num_non_resident: gauge('Documents whose value is on disk only'),
  kv_ep_num_non_resident: gauge('Documents whose value is on disk only'),
  kv_vb_perc_mem_resident_ratio: gauge('Share of documents whose value is in memory'),
  kv_vb_expired: counter('Documents that expired'),
  kv_vb_eject: counter('Values and documents evicted from memory'),
};

const clockDrift = {
  kv_ep_active_hlc_drift_seconds: counter(
    'Sum of the differences between the times of writes with metadata and the clock of the node',
  ),
  kv_ep_active_hlc_drift_count: counter(
    'Number of writes with metadata whose differences from the clock are in the sum',
  ),
  kv_ep_active_ahead_exceptions: counter(
    'Number of writes with metadata that were further ahead of the clock than the bucket allows',
  ),
  kv_ep_active_behind_exceptions: counter(
    'Number of writes with metadata that were further behind the clock than the bucket allows',
  ),
  kv_ep_replica_hlc_drift_seconds: counter(
    'Sum of the differences between the times of changes that copies received and the clock of the node',
  ),
  kv_ep_replica_hlc_drift_count: counter(
    'Number of changes that copies received and whose differences from the clock are in the sum',
  ),
  kv_ep_replica_ahead_exceptions: counter(
    'Number of changes that copies received and that were further ahead of the clock than the bucket allows',
  ),
  kv_ep_replica_behind_exceptions: counter(
    'Number of changes that copies received and that were further behind the clock than the bucket allows',
  ),
  kv_ep_clock_cas_drift_threshold_exceeded: counter(
    'Writes of other nodes that were further ahead of the clock than the bucket allows',
  ),
};

const memory = {
  kv_mem_used_bytes: gauge('Memory that the bucket uses'),
  kv_ep_max_size: gauge('Memory that the bucket may use'),
  kv_ep_mem_high_wat: gauge('Memory at which eviction starts (high watermark)'),
  kv_ep_mem_low_wat: gauge('Memory at which eviction stops (low watermark)'),
  kv_vb_itm_memory_bytes: gauge('Memory of keys and values with their headers'),
  kv_vb_meta_data_memory_bytes: gauge('Memory of the headers of documents and of the index of keys'),
  kv_ep_overhead_bytes: gauge('Memory of the bucket other than documents'),
  kv_ep_oom_errors: counter('Writes refused because memory was full in a bucket without eviction'),
  kv_ep_num_value_ejects: counter('Values and documents evicted from memory'),
  kv_ep_item_compressor_num_visited: counter('Values that background compression (mode active) tried'),
  kv_ep_item_compressor_num_compressed: counter('Values that background compression compressed'),
  kv_ep_tmp_oom_errors: counter('Writes refused with a temporary failure because memory was full'),
};

const disk = {
  kv_ep_bg_fetched: counter('Documents read from disk because a client asked for them'),
  kv_ep_queue_size: gauge('Changes in the disk write queue'),
  kv_ep_diskqueue_items: gauge('Changes in the disk write queue'),
  kv_ep_diskqueue_fill: counter('Changes added to the disk write queue'),
  kv_ep_diskqueue_drain: counter(
    'Changes removed from the disk write queue: written, or replaced by newer ones',
  ),
  kv_ep_item_commit_failed: counter('Commits that failed'),
  kv_vb_queue_size: gauge('Changes that wait to be written to disk, by state of their vbuckets'),
  kv_vb_queue_memory_bytes: gauge('Bytes of changes that wait to be written to disk'),
  kv_ep_db_data_size_bytes: gauge('Bytes of the data files that are in use'),
  kv_ep_db_file_size_bytes: gauge('Bytes of the data files'),
  kv_bucket_damaged_files: gauge('Files of the bucket that cannot be read'),
  kv_bucket_writes_refused: gauge('1 while the bucket refuses writes, because its disk failed or is full'),
  kv_ep_pending_compactions: gauge('Running compactions'),
  couch_docs_actual_disk_size: gauge('Bytes on disk used by the data service'),
  kv_disk_seconds: histogram('Duration of disk operations'),
  kv_bg_wait_seconds: histogram('Time that background fetches wait before their read begins'),
  kv_bg_load_seconds: histogram('Duration of background fetches from disk'),
};

const dataPort = {
  kv_curr_connections: gauge('Connections to the data port'),
  kv_total_connections: counter('Connections accepted at the data port'),
  kv_rejected_conns: counter('Connections refused because of the connection limit'),
  kv_auth_cmds: counter('Logins at the data port, refused ones included'),
  kv_auth_errors: counter('Refused logins at the data port'),
  kv_read_bytes: counter('Bytes received at the data port'),
  kv_written_bytes: counter('Bytes sent from the data port'),
  kv_dcp_connection_count: gauge('Connections with change streams'),
  kv_dcp_items_sent: gauge('Changes sent on the change streams that are open'),
  kv_dcp_items_remaining: gauge('Changes that open streams have not sent yet'),
  kv_dcp_total_data_size_bytes: gauge('Bytes sent on the change streams that are open'),
};

const manager = {
  cm_http_requests_total: counter('Requests to the REST API by route, method and status'),
  cm_http_requests_seconds: histogram('Time from a REST request to the start of its response'),
  cm_rest_request_enters_total: counter('REST requests begun'),
  cm_rest_request_leaves_total: counter('REST requests completed'),
  cm_rest_request_auth_failure_total: counter('REST requests with missing or wrong credentials'),
  cm_rest_request_access_forbidden_total: counter('REST requests refused for lack of permission'),
};

const machine = {
  sys_cpu_utilization_rate: gauge('Percentage of the available processor time that is in use'),
  sys_cpu_user_rate: gauge('Percentage of the available processor time that programs use'),
  sys_cpu_sys_rate: gauge('Percentage of the available processor time that the kernel uses for programs'),
  sys_cpu_irq_rate: gauge('Percentage of processor time of the machine that interrupts take'),
  sys_cpu_host_utilization_rate: gauge('Percentage of processor time of the machine that is in use'),
  sys_cpu_host_user_rate: gauge('Percentage of processor time of the machine that programs use'),
  sys_cpu_host_sys_rate: gauge('Percentage of processor time of the machine that its kernel uses'),
  sys_cpu_stolen_rate: gauge('Percentage of processor time stolen by the hypervisor'),
  sys_cpu_cores_available: gauge('Cores that this node may use'),
  sys_cpu_host_cores_available: gauge('Cores of the machine'),
  sys_mem_total: gauge('Bytes of memory of the machine'),
  sys_mem_limit: gauge('Bytes of memory that this node may use'),
  sys_mem_free: gauge('Available bytes of memory, including reclaimable file caches'),
  sys_mem_used_sys: gauge('Bytes of memory in use on the machine, including file caches'),
  sys_mem_actual_free: gauge('Available bytes of memory, including reclaimable file caches'),
  sys_mem_actual_used: gauge('Bytes of memory in use, excluding file caches'),
  sys_swap_total: gauge('Bytes of swap space'),
  sys_swap_used: gauge('Bytes of swap space in use'),
  sys_allocstall: counter('Allocations that stalled waiting for memory'),
  sys_disk_usage_ratio: gauge('Share of the file system with the data that is in use'),
  sysproc_cpu_seconds_total: counter('Processor time of the process'),
  sysproc_mem_resident: gauge('Resident memory of the process in bytes'),
  sysproc_minor_faults_raw: counter('Minor page faults of the process'),
  sysproc_major_faults_raw: counter('Major page faults of the process (pages read from disk)'),
  sysproc_page_faults_raw: counter('All page faults of the process'),
  sysproc_start_time: gauge('Start of the process in seconds since 1970'),
};

const indexes = {
  index_items_count: gauge('Rows of an index'),
  index_num_docs_indexed: counter('Changes of documents that an index has processed'),
  index_num_docs_pending: gauge('Changes of documents that are not in the index file yet'),
  index_num_items_skipped: counter(
    'Documents left out of an index, because their index keys are longer than the limit',
  ),
  index_num_requests: counter('Scans of an index'),
  index_num_rows_returned: counter('Rows that scans of an index returned'),
  index_total_scan_duration: counter('Nanoseconds that scans of an index took'),
  index_disk_size: gauge('Bytes of the index file'),
  index_data_size: gauge('Bytes of the index file'),
  index_initial_build_progress: gauge('Percentage of the build of an index'),
  index_memory_quota: gauge('Memory that the index service may use'),
  index_num_indexes: gauge('Indexes of the node'),
};

const queries = {
  n1ql_requests: counter('Requests that the query service completed'),
  n1ql_selects: counter('SELECT statements'),
  n1ql_inserts: counter('INSERT and UPSERT statements'),
  n1ql_updates: counter('UPDATE and MERGE statements'),
  n1ql_deletes: counter('DELETE statements'),
  n1ql_transactions: counter('Transactions begun with a statement'),
  n1ql_cancelled: counter('Requests that were cancelled, or whose client closed the connection'),
  n1ql_invalid_requests: counter('Requests whose parameters were refused'),
  n1ql_errors: counter('Errors in answers of the query service'),
  n1ql_warnings: counter('Warnings in answers of the query service'),
  n1ql_mutations: counter('Documents that statements changed'),
  n1ql_result_count: counter('Rows in answers of the query service'),
  n1ql_result_size: counter('Bytes of rows in answers of the query service'),
  n1ql_request_time: counter('Nanoseconds from the arrival of requests to the end of their answers'),
  n1ql_service_time: counter('Nanoseconds that requests ran, without queueing'),
  n1ql_requests_250ms: counter('Requests of 250 ms and longer'),
  n1ql_requests_500ms: counter('Requests of 500 ms and longer'),
  n1ql_requests_1000ms: counter('Requests of a second and longer'),
  n1ql_requests_5000ms: counter('Requests of five seconds and longer'),
  n1ql_prepared: counter('Requests that ran a prepared statement'),
  n1ql_unbounded: counter('Requests without scan consistency (not_bounded)'),
  n1ql_at_plus: counter('Requests with scan consistency at_plus'),
  n1ql_scan_plus: counter('Requests with scan consistency request_plus or statement_plus'),
  n1ql_index_scans: counter('Scans of secondary indexes by statements'),
  n1ql_primary_scans: counter('Scans of primary indexes by statements'),
  n1ql_active_requests: gauge('Running and queued requests'),
  n1ql_queued_requests: gauge('Queued requests'),
};

const replications = {
  xdcr_docs_written_total: counter('Versions that the target accepted, or refused by conflict resolution'),
  xdcr_set_docs_written_total: counter(
    'Documents that the target accepted, or refused by conflict resolution',
  ),
  xdcr_deletion_docs_written_total: counter(
    'Deletions that the target accepted, or refused by conflict resolution',
  ),
  xdcr_expiry_docs_written_total: counter(
    'Expirations that the target accepted, or refused by conflict resolution',
  ),
  xdcr_docs_opt_repd_total: counter('Versions sent without first asking the target for its version'),
  xdcr_docs_failed_cr_source_total: counter('Versions not sent, because that of the target wins'),
  xdcr_docs_failed_cr_target_total: counter('Versions that the target refused, because its own wins'),
  xdcr_set_failed_cr_source_total: counter('Documents not sent, because the version of the target wins'),
  xdcr_deletion_failed_cr_source_total: counter('Deletions not sent, because the version of the target wins'),
  xdcr_expiry_failed_cr_source_total: counter('Expirations not sent, because the version of the target wins'),
  xdcr_docs_received_from_dcp_total: counter('Changes received from the source bucket'),
  xdcr_set_received_from_dcp_total: counter('Documents received from the source bucket'),
  xdcr_deletion_received_from_dcp_total: counter('Deletions received from the source bucket'),
  xdcr_expiry_received_from_dcp_total: counter('Expirations received from the source bucket'),
  xdcr_docs_compression_skipped_total: counter('Values that compression would not make smaller'),
  xdcr_expiry_stripped_total: counter('Documents sent without their expiry'),
  xdcr_docs_cloned_total: counter('Copies of changes for further collections, in migration mode'),
  xdcr_deletion_cloned_total: counter('Copies of deletions for further collections, in migration mode'),
  xdcr_system_events_received_from_dcp_total: counter(
    'Changes of scopes and collections received from the source bucket',
  ),
  xdcr_seqno_adv_received_from_dcp_total: counter(
    'Messages of the source bucket that a range of seqnos has no changes to replicate',
  ),
  xdcr_num_checkpoints_total: counter('Checkpoints stored'),
  xdcr_num_failedckpts_total: counter('Checkpoints that could not be stored'),
  xdcr_target_eaccess_total: counter('Versions that the target refused for lack of rights'),
  xdcr_target_tmpfail_total: counter('Versions that the target refused with a temporary failure'),
  xdcr_target_unknown_status_total: counter('Versions that the target refused with an unexpected status'),
  xdcr_docs_refused_total: counter('Versions left out, because the target would refuse them at each attempt'),
  xdcr_guardrail_resident_ratio_total: counter(
    'Versions that the target refused, because too little of its bucket is in memory',
  ),
  xdcr_guardrail_data_size_total: counter(
    'Versions that the target refused, because its bucket has too much data',
  ),
  xdcr_guardrail_disk_space_total: counter('Versions that the target refused for lack of disk space'),
  xdcr_docs_filtered: gauge('Changes left out by filters'),
  xdcr_set_filtered: gauge('Documents left out by filters'),
  xdcr_deletion_filtered: gauge('Deletions left out by filters'),
  xdcr_expiry_filtered: gauge('Expirations left out by filters'),
  xdcr_binary_filtered: gauge('Documents left out because they are not JSON'),
  xdcr_atr_txn_docs_filtered: gauge('Records of transactions left out'),
  xdcr_client_txn_docs_filtered: gauge('Records of clients of transactions left out'),
  xdcr_docs_filtered_on_txn_xattr: gauge('Documents left out, because a transaction has staged them'),
  xdcr_docs_filtered_on_user_defined_filter: gauge('Documents left out by filter expressions'),
  xdcr_docs_unable_to_filter: gauge(
    'Documents left out because a filter expression cannot be applied to them',
  ),
  xdcr_docs_processed: gauge('Changes of the source up to which all are replicated or left out'),
  xdcr_changes_left: gauge('Changes that are not replicated yet'),
  xdcr_docs_checked: gauge('Changes that checkpoints cover'),
  xdcr_docs_rep_queue: gauge('Versions that wait to be sent'),
  xdcr_rate_replicated: gauge('Versions written per second'),
  xdcr_rate_received_from_dcp: gauge('Changes received per second'),
  xdcr_rate_doc_opt_repd: gauge('Versions sent per second without first asking the target for its version'),
  xdcr_rate_doc_checks: gauge('Changes per second that new checkpoints cover'),
  xdcr_percent_completeness: gauge('Share of the changes that are replicated'),
  xdcr_data_replicated_bytes: counter('Bytes of keys and values sent'),
  xdcr_size_rep_queue_bytes: gauge('Bytes that wait to be sent'),
  xdcr_bandwidth_usage_bytes: gauge('Bytes sent per second'),
  xdcr_wtavg_docs_latency_seconds: gauge('Mean time from sending a version to the answer'),
  xdcr_wtavg_meta_latency_seconds: gauge('Mean time to read the version of the target'),
  xdcr_time_committing_seconds: gauge('Mean time that storing a checkpoint takes'),
};

const backups = {
  backup_dispatched: counter('Tasks of the backup service that were due: started, or failed to start'),
  backup_task_run: counter('Tasks of the backup service that ended, by type and result'),
  backup_task_duration_seconds: histogram('Time that tasks of the backup service took'),
  backup_task_orphaned: counter('Tasks of the backup service that the end of their node interrupted'),
  backup_location_check: counter('Checks of the archive and the bucket of a repository'),
  backup_data_size: gauge('Bytes of all backups of a repository, at the end of its last task'),
};

export const metrics = {
  ...documents,
  ...memory,
  ...clockDrift,
  ...disk,
  ...dataPort,
  ...manager,
  ...machine,
  ...indexes,
  ...queries,
  ...replications,
  ...backups,
};

export type MetricName = keyof typeof metrics;

/** The kind and help text of a metric. */
export const metricOf = (name: string): Metric | undefined =>
  Object.hasOwn(metrics, name) ? metrics[name as MetricName] : undefined;

/** A value of a counter or gauge. */
export function sampleOf(name: MetricName, labels: Labels, value: number): MetricSample {
  return { name, labels, kind: metrics[name].kind === 'counter' ? 'counter' : 'gauge', value };
}

/** A histogram; `counts` has one more entry than `bounds`, the total. */
export const histogramOf = (
  name: MetricName,
  labels: Labels,
  value: { bounds: readonly number[]; counts: readonly number[]; sum: number },
): MetricSample => ({ name, labels, kind: 'histogram', value });
