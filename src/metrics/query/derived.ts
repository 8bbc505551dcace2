// Derived metrics: ratios and averages computed from other metrics at query time. Window functions and aggregations apply to the
// source metrics first, so that a query over several series gives the ratio of the sums and not the sum of the ratios.
import type { Labels, Matcher, Series } from '../sample.ts';
import { aggregated, combineBy, keyed, type Row, type Slices } from './combine.ts';
import { evaluateInSlices, type Range } from './evaluate.ts';
import type { Plan } from './plan.ts';

/** The series that match, summed so that the sums have neither the labels of `without` nor the metric name. */
export interface Source {
  readonly matchers: readonly Matcher[];
  readonly without: readonly string[];
}

interface Term {
  readonly of: Source;
  readonly minus?: Source;
}

interface Derived {
  readonly numerator: Term;
  readonly denominator?: Term;
  readonly factor: number;
  /** The result of a division by zero; null: no value. */
  readonly atZero: number | null;
}

const nameLabel = '__name__';

const source = (name: string, labels: Labels = {}, without: readonly string[] = []): Source => ({
  matchers: Object.entries({ [nameLabel]: name, ...labels }).map(([label, value]) => condition(label, value)),
  without,
});

const condition = (label: string, value: string): Matcher => ({
  label,
  operator: value.includes('|') ? '=~' : '=',
  value,
});

const sum = (of: Source): Derived => ({ numerator: { of }, factor: 1, atZero: null });
const average = (name: string): Derived => ({
  factor: 1,
  atZero: null,
  numerator: { of: source(`${name}_sum`) },
  denominator: { of: source(`${name}_count`) },
});
const percent = (numerator: Term, of: Source, atZero: number | null): Derived => ({
  numerator,
  atZero,
  denominator: { of },
  factor: 100,
});
/** The percentage of `of` that remains when `minus` is subtracted. */
const restPercent = (minus: string, of: string, atZero: number | null): Derived =>
  percent({ of: source(of), minus: source(minus) }, source(of), atZero);

const gets = source('kv_ops', { op: 'get' }, ['op', 'result']);
const hits = source('kv_ops', { op: 'get', result: 'hit' }, ['op', 'result']);
const metaOps = source('kv_ops', { op: 'del_meta|get_meta|set_meta' }, ['op', 'result']);

const derived: Readonly<Record<string, Derived>> = {
  kv_hit_ratio: percent({ of: hits }, gets, 100),
  kv_ep_cache_miss_ratio: percent({ of: source('kv_ep_bg_fetched') }, gets, 0),
  kv_ep_resident_items_ratio: restPercent('kv_ep_num_non_resident', 'kv_curr_items_tot', 100),
  kv_vb_resident_items_ratio: restPercent('kv_vb_num_non_resident', 'kv_vb_curr_items', 100),
  couch_docs_fragmentation: restPercent('kv_ep_db_data_size_bytes', 'kv_ep_db_file_size_bytes', null),
  couch_total_disk_size: sum(source('couch_docs_actual_disk_size')),
  kv_disk_write_queue: sum(source('kv_ep_queue_size')),
  kv_xdc_ops: sum(metaOps),
  kv_avg_disk_time_seconds: average('kv_disk_seconds'),
  kv_avg_bg_wait_time_seconds: average('kv_bg_wait_seconds'),
};

export const derivedNames: readonly string[] = Object.keys(derived);

/** The derived metric that a query names, and the conditions for its source metrics. */
export function derivedQuery(matchers: readonly Matcher[]): { name: string; rest: Matcher[] } | null {
  const [first, ...others] = matchers.filter(({ label }) => label === nameLabel);
  if (first?.operator !== '=' || others.length > 0 || !Object.hasOwn(derived, first.value)) return null;
  return { name: first.value, rest: matchers.filter((matcher) => matcher !== first) };
}

/** All source metrics of a derived metric. */
export function sourcesOf(name: string): Source[] {
  const { numerator, denominator } = derived[name] as Derived;
  const all = [numerator, denominator].flatMap((term) => (term ? [term.of, term.minus] : []));
  return all.filter((operand) => operand !== undefined);
}

/**
 * Computes the rows of each source of a derived metric, with the sum that the source asks for. `found` has the series of each source, in the
 * order of `sourcesOf`. Yields as `evaluateInSlices` does.
 */
export function* sourceRows(
  name: string,
  plan: Plan,
  found: readonly (readonly Series[])[],
  range: Range,
): Slices<Row[][]> {
  const all: Row[][] = [];
  for (const [index, { without }] of sourcesOf(name).entries()) {
    const rows = yield* evaluateInSlices({ ...plan, aggregations: [] }, found[index] ?? [], range);
    all.push(yield* addUp(rows, without));
  }
  return all;
}

/** The source rows of several nodes, summed. */
export function* sumSources(ofNodes: readonly (readonly (readonly Row[])[])[]): Slices<Row[][]> {
  const all: Row[][] = [];
  for (const index of (ofNodes[0] ?? []).keys())
    all.push(
      yield* addUp(
        ofNodes.flatMap((sources) => sources[index] ?? []),
        [],
      ),
    );
  return all;
}

/** Combines the rows of the sources. Returns rows with at least one value. */
export function* derivedRows(
  name: string,
  { aggregations }: Plan,
  sources: readonly (readonly Row[])[],
): Slices<Row[]> {
  const { numerator, denominator, factor, atZero } = derived[name] as Derived;
  const remaining = [...sources];
  function* rowsOf({ minus }: Term): Slices<readonly Row[]> {
    const first = remaining.shift() ?? [];
    let rows = minus ? yield* joinRows(first, remaining.shift() ?? [], (a, b) => a - b) : first;
    for (const aggregation of aggregations) rows = yield* aggregated(rows, aggregation);
    return rows;
  }
  const numerators = yield* rowsOf(numerator);
  const share = (a: number, b: number) => (b === 0 ? atZero : (factor * a) / b);
  const rows = denominator ? yield* joinRows(numerators, yield* rowsOf(denominator), share) : numerators;
  const named = rows.map((row) => ({ ...row, labels: { ...row.labels, [nameLabel]: name } }));
  return named.filter(({ has }) => has.includes(1));
}

const addUp = (rows: readonly Row[], without: readonly string[]): Slices<Row[]> =>
  combineBy(rows, 'sum', (labels) =>
    Object.fromEntries(
      Object.entries(labels).filter(([label]) => label !== nameLabel && !without.includes(label)),
    ),
  );

/** Computes one row from each two rows with equal labels; null: no value. */
function* joinRows(
  rows: readonly Row[],
  others: readonly Row[],
  compute: (a: number, b: number) => number | null,
): Slices<Row[]> {
  const byLabels = yield* keyed(others);
  const joined: Row[] = [];
  for (const [key, row] of yield* keyed(rows)) {
    yield 0;
    const other = byLabels.get(key);
    if (other) joined.push(computed(row, other, compute));
  }
  return joined;
}

function computed(row: Row, other: Row, compute: (a: number, b: number) => number | null): Row {
  const values = new Float64Array(row.has.length);
  const has = new Uint8Array(row.has.length);
  for (let index = 0; index < has.length; index++) {
    if (row.has[index] !== 1 || other.has[index] !== 1) continue;
    const value = compute(row.values[index] as number, other.values[index] as number);
    if (value === null) continue;
    values[index] = value;
    has[index] = 1;
  }
  return { labels: row.labels, values, has };
}
