// Parses and checks the function chain of a range query: at most one window function, which must come first, then combiners
// (`sum`, `min` and so on) and percentiles, which make one series of several.

export const windowFunctions = [
  'rate',
  'irate',
  'increase',
  'delta',
  'idelta',
  'deriv',
  'avg_over_time',
  'min_over_time',
  'max_over_time',
] as const;
export type WindowFunction = (typeof windowFunctions)[number];

export const combiners = ['sum', 'min', 'max', 'avg', 'count'] as const;
export type Combiner = (typeof combiners)[number];

/** Makes one series of several. */
export type Aggregation =
  /** `keepsBound`: the result keeps the label `le`, because a quantile follows. */
  | { readonly kind: 'combine'; readonly combiner: Combiner; readonly keepsBound: boolean }
  /** 0.01 to 0.99. */
  | { readonly kind: 'quantile'; readonly share: number };

export interface Plan {
  readonly window: WindowFunction | null;
  readonly aggregations: readonly Aggregation[];
}

/** Bounds the work of one query; no useful query has more. */
const functionsMax = 10;

/** Returns the plan, or the problem with the chain. */
export function planOf(names: readonly string[]): Plan | { readonly problem: string } {
  if (names.length > functionsMax)
    return { problem: `malformed function expression: more than ${functionsMax} functions` };
  const [first] = names;
  const window = first !== undefined && isWindowFunction(first) ? first : null;
  const aggregations: Aggregation[] = [];
  for (const name of window === null ? names : names.slice(1)) {
    if (isWindowFunction(name)) return { problem: misplaced(name) };
    const aggregation = aggregationOf(name);
    if (aggregation === null) return { problem: `malformed function expression: unknown function "${name}"` };
    aggregations.push(aggregation);
  }
  return { window, aggregations: keepBounds(aggregations) };
}

const misplaced = (name: string) =>
  `malformed function expression: "${name}" needs a range of samples, so it must be the first function`;

const isWindowFunction = (name: string): name is WindowFunction =>
  (windowFunctions as readonly string[]).includes(name);

/** The aggregation by a combiner or a percentile such as `p95`; null: there is no such function. */
export function aggregationOf(name: string): Aggregation | null {
  if ((combiners as readonly string[]).includes(name))
    return { kind: 'combine', combiner: name as Combiner, keepsBound: false };
  const percent = /^p([1-9][0-9]?)$/.exec(name)?.[1];
  return percent === undefined ? null : { kind: 'quantile', share: Number(percent) / 100 };
}

/** A quantile needs the label `le`, so combiners before it must keep that label. */
function keepBounds(aggregations: readonly Aggregation[]): Aggregation[] {
  const last = aggregations.findLastIndex(({ kind }) => kind === 'quantile');
  return aggregations.map((aggregation, index) =>
    aggregation.kind === 'combine' && index < last ? { ...aggregation, keepsBound: true } : aggregation,
  );
}
