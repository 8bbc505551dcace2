// The charts of each board.
import { count, percent, size } from '../kit/format.ts';

export interface ChartSpec {
  readonly title: string;
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly applyFunctions: readonly string[];
  readonly format: (value: number) => string;
}

/** In seconds. */
export const intervals = [
  ['60', 'Last minute'],
  ['600', 'Last 10 minutes'],
  ['3600', 'Last hour'],
  ['86400', 'Last day'],
  ['604800', 'Last week'],
] as const;

export const functions = [
  ['none', 'Value'],
  ['rate', 'Rate per second'],
  ['irate', 'Rate of the newest samples'],
  ['increase', 'Increase'],
  ['delta', 'Difference'],
  ['idelta', 'Difference of the newest samples'],
  ['deriv', 'Slope per second'],
  ['avg_over_time', 'Average'],
  ['max_over_time', 'Highest'],
  ['min_over_time', 'Lowest'],
] as const;

export const combinations = [
  ['none', 'Each by itself'],
  ['sum', 'Sum'],
  ['avg', 'Mean'],
  ['max', 'Highest'],
  ['min', 'Lowest'],
  ['count', 'Number of series'],
  ['p50', 'Median of a histogram'],
  ['p95', '95th percentile of a histogram'],
  ['p99', '99th percentile of a histogram'],
] as const;

type Row = readonly [title: string, metric: string, format: ChartSpec['format'], ...applyFunctions: string[]];

const boards: Readonly<Record<string, readonly Row[]>> = {
  nodes: [
    ['CPU', 'sys_cpu_utilization_rate', percent],
    ['Free memory', 'sys_mem_actual_free', size],
    ['Memory of the processes', 'sysproc_mem_resident', size],
    ['Requests to the REST API a second', 'cm_http_requests_total', count, 'irate', 'sum'],
    ['Connections of data clients', 'kv_curr_connections', count],
  ],
  queries: [
    ['Statements a second', 'n1ql_requests', decimal, 'irate'],
    ['Failed statements a second', 'n1ql_errors', decimal, 'irate'],
    ['Running statements', 'n1ql_active_requests', count],
    ['Statements of more than a second, per second', 'n1ql_requests_1000ms', decimal, 'irate'],
    ['Rows of indexes a second', 'index_num_rows_returned', decimal, 'irate', 'sum'],
  ],
  replication: [
    ['Documents written a second', 'xdcr_docs_written_total', decimal, 'irate'],
    ['Documents checked a second', 'xdcr_docs_checked', decimal, 'irate'],
    ['Bytes sent a second', 'xdcr_data_replicated_bytes', size, 'irate'],
    ['Changes left', 'xdcr_changes_left', count],
  ],
};

const bucketBoard: readonly Row[] = [
  ['Documents', 'kv_curr_items', count],
  ['Operations a second', 'kv_ops', decimal, 'irate', 'sum'],
  ['Memory in use', 'kv_mem_used_bytes', size, 'sum'],
  ['Data on disk', 'kv_ep_db_file_size_bytes', size],
  ['Changes that wait for the disk', 'kv_ep_queue_size', count],
  ['Documents read from disk a second', 'kv_ep_bg_fetched', decimal, 'irate'],
];

export function chartsOf(board: string): readonly ChartSpec[] {
  const bucket = board.startsWith('bucket ') ? board.slice('bucket '.length) : null;
  const rows = bucket === null ? (boards[board] ?? []) : bucketBoard;
  const labels: Readonly<Record<string, string>> = bucket === null ? {} : { bucket };
  return rows.map(([title, metric, format, ...applyFunctions]) => ({
    title,
    metric,
    labels,
    applyFunctions,
    format,
  }));
}

interface CustomChart {
  readonly metric: string;
  /** `name=value` pairs. */
  readonly labels: string;
  /** One of `functions`, applied to the samples of a series. */
  readonly window: string;
  /** One of `combinations`, applied to all series. */
  readonly combination: string;
}

export function customChart({ metric, labels, window, combination }: CustomChart): ChartSpec {
  const applyFunctions = [window, combination].filter((name) => name !== 'none');
  const pairs = labels.split(',').map((pair) => pair.split('=', 2).map((part) => part.trim()));
  return {
    title: applyFunctions.reduce((inner, name) => `${name}(${inner})`, metric),
    metric,
    labels: Object.fromEntries(pairs.filter(([name, value]) => name && value)) as Record<string, string>,
    applyFunctions,
    format: decimal,
  };
}

function decimal(value: number): string {
  return Math.abs(value) >= 100 ? count(value) : value.toFixed(2);
}
