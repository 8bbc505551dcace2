// Routes for range queries over the node's time series.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';

const root = '/pools/default/stats/range';

/** The caller may read statistics of at least one collection; each series is then checked separately. */
const access: Access = { kind: 'permission', permission: 'cluster.collection[.:.:.].stats!read' };

const seriesShape = shape.object({
  metric: { type: 'object', properties: { nodes: shape.array(shape.string) }, required: ['nodes'] },
  values: shape.array(shape.array(shape.either(shape.number, shape.string))),
});

const rangeShape = shape.object({
  data: shape.array(seriesShape),
  errors: shape.array(shape.object({ node: shape.string, error: shape.string })),
  startTimestamp: shape.number,
  endTimestamp: shape.number,
});

const parameters =
  'Parameters: `start`, `end`, `step`, `timeWindow`, `nodes`, `aggregationFunction`, `timeout`, `alignTimestamps`; any other is a label that series must have with this value.';
const derivedMetrics = [
  'kv_hit_ratio',
  'kv_ep_cache_miss_ratio',
  'kv_ep_resident_items_ratio',
  'kv_vb_resident_items_ratio',
  'couch_docs_fragmentation',
  'couch_total_disk_size',
  'kv_disk_write_queue',
  'kv_xdc_ops',
  'kv_avg_disk_time_seconds',
  'kv_avg_bg_wait_time_seconds',
].map((name) => `\`${name}\``);

export const RangeWithoutMetric = defineRoute({
  id: 'metrics.range_without_metric',
  method: 'GET',
  path: root,
  access,
  answer: { status: 404, json: shape.object({ status: shape.integer, msg: shape.string }) },
  doc: 'Always answers 404, since the path names no metric.',
});

export const Range = defineRoute({
  id: 'metrics.range',
  method: 'GET',
  path: `${root}/:metric`,
  access,
  answer: { json: rangeShape },
  doc: `Values of a metric over an interval. ${parameters} In addition to the metrics of \`/metrics\` it serves derived ones: ${derivedMetrics.join(', ')}.`,
});

export const RangeOfFunctions = defineRoute({
  id: 'metrics.range_of_functions',
  method: 'GET',
  path: `${root}/:metric/:functions*`,
  access,
  answer: { json: rangeShape },
  doc: 'Values of a metric, as without functions, through a chain of functions, applied from left to right: `rate`, `irate`, `increase`, `avg_over_time`, `min_over_time`, `max_over_time`, `deriv`, `delta` or `idelta` at its front, then `sum`, `min`, `max`, `avg`, `count` and `p1` to `p99`.',
});

export const Ranges = defineRoute({
  id: 'metrics.ranges',
  method: 'POST',
  path: root,
  access,
  bodyKind: 'json',
  bodyBytesMax: 1 << 20,
  changesNothing: true,
  answer: { json: shape.array(rangeShape) },
  doc: 'Several ranges at once: an array of objects with `metric` (a list of `{label, value, operator}`), `applyFunctions` and the parameters above.',
});

/** The reply to a query, with or without series. */
export interface RangeAnswer {
  readonly data: readonly { metric: Record<string, unknown>; values: readonly [number, string][] }[];
  readonly errors: readonly { node: string; error: string }[];
  readonly startTimestamp: number;
  readonly endTimestamp: number;
}

/** Clients parse the values as decimal numbers without an exponent. */
export function valueText(value: number): string {
  if (value === Infinity) return '+Inf';
  const text = String(value === -Infinity ? '-Inf' : value);
  const parts = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (!parts) return text;
  const [, sign, integerPart, fraction = '', exponent] = parts;
  const digits = `${integerPart}${fraction}`;
  const point = 1 + Number(exponent);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return `${sign}${digits.padEnd(point, '0')}`;
}
