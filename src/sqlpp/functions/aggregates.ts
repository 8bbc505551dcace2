// The aggregates and window functions, and the clauses that each allows.

export interface AggregateRules {
  /** The fewest and the most arguments. */
  readonly minimum: number;
  readonly maximum: number;
  /** Allowed without OVER. */
  readonly isPlain: boolean;
  readonly allowsDistinct: boolean;
  readonly allowsFilter: boolean;
  readonly allowsWindow: boolean;
  readonly allowsFrame: boolean;
  /** OVER needs an ORDER BY. */
  readonly needsOrder: boolean;
  /** RESPECT NULLS and IGNORE NULLS. */
  readonly allowsNulls: boolean;
  /** FROM FIRST and FROM LAST. */
  readonly allowsFrom: boolean;
  /** The second argument is a whole number. */
  readonly needsWholeSecond: boolean;
}

const plain: AggregateRules = {
  minimum: 1,
  maximum: 1,
  isPlain: true,
  allowsDistinct: true,
  allowsFilter: true,
  allowsWindow: true,
  allowsFrame: true,
  needsOrder: false,
  allowsNulls: false,
  allowsFrom: false,
  needsWholeSecond: false,
};
const window: AggregateRules = {
  ...plain,
  isPlain: false,
  allowsDistinct: false,
  allowsFilter: false,
  allowsFrame: false,
};
const rank: AggregateRules = { ...window, minimum: 0, maximum: 0, needsOrder: true };
const position: AggregateRules = { ...window, allowsFrame: true, allowsNulls: true };
const neighbour: AggregateRules = {
  ...window,
  maximum: 3,
  needsOrder: true,
  allowsNulls: true,
  needsWholeSecond: true,
};

const rules: ReadonlyMap<string, AggregateRules> = new Map([
  ...[
    'array_agg',
    'avg',
    'count',
    'countn',
    'max',
    'mean',
    'median',
    'min',
    'stddev',
    'stddev_pop',
    'stddev_samp',
    'sum',
    'variance',
    'var_pop',
    'variance_pop',
    'var_samp',
    'variance_samp',
  ].map((name): [string, AggregateRules] => [name, plain]),
  ['row_number', { ...rank, needsOrder: false }],
  ['rank', rank],
  ['dense_rank', rank],
  ['percent_rank', rank],
  ['cume_dist', rank],
  ['ratio_to_report', { ...window, allowsFrame: true }],
  ['ntile', { ...window, needsOrder: true }],
  ['first_value', position],
  ['last_value', position],
  ['nth_value', { ...position, minimum: 2, maximum: 2, allowsFrom: true, needsWholeSecond: true }],
  ['lag', neighbour],
  ['lead', neighbour],
]);

/** By the name in lower case. */
export function aggregateNamed(name: string): AggregateRules | undefined {
  return rules.get(name);
}

export function aggregateNames(): readonly string[] {
  return [...rules.keys()];
}
