// The chain of functions of a range query, read and checked: at most one over a window of time, at the front, then any
// that combine series.

export const windowFunctions = [
  ...(['rate', 'irate', 'increase', 'delta', 'idelta', 'deriv'] as const),
  ...(['avg_over_time', 'min_over_time', 'max_over_time'] as const),
] as const;
export type WindowFunction = (typeof windowFunctions)[number];

export const combiners = ['sum', 'min', 'max', 'avg', 'count'] as const;
export type Combiner = (typeof combiners)[number];

export type Step =
  /** `byBound` keeps the bounds of histograms apart, for a quantile that follows. */
  | { readonly kind: 'combine'; readonly by: Combiner; readonly byBound: boolean }
  /** Share from 0.01 to 0.99. */
  | { readonly kind: 'quantile'; readonly share: number };

export interface Plan {
  readonly window: WindowFunction | null;
  readonly steps: readonly Step[];
}

/** A longer chain is not a question anybody has. */
export const functionsLimit = 10;

/** The plan, or what is wrong with the chain. */
export function planOf(names: readonly string[]): Plan | { readonly problem: string } {
  if (names.length > functionsLimit)
    return { problem: `malformed function expression: more than ${functionsLimit} functions` };
  const [first] = names;
  const window = first !== undefined && isWindowFunction(first) ? first : null;
  const steps: Step[] = [];
  for (const name of window === null ? names : names.slice(1)) {
    if (isWindowFunction(name)) return { problem: misplaced(name) };
    const step = stepOf(name);
    if (step === null) return { problem: `malformed function expression: unknown function "${name}"` };
    steps.push(step);
  }
  return { window, steps: keepBounds(steps) };
}

const misplaced = (name: string) =>
  `malformed function expression: "${name}" needs a range of samples, so it must be the first function`;

const isWindowFunction = (name: string): name is WindowFunction =>
  (windowFunctions as readonly string[]).includes(name);

/** `p95` and the like. */
export function stepOf(name: string): Step | null {
  if ((combiners as readonly string[]).includes(name))
    return { kind: 'combine', by: name as Combiner, byBound: false };
  const percent = /^p([1-9][0-9]?)$/.exec(name)?.[1];
  return percent === undefined ? null : { kind: 'quantile', share: Number(percent) / 100 };
}

/** Without the bounds a quantile would have nothing to read. */
function keepBounds(steps: readonly Step[]): Step[] {
  const last = steps.findLastIndex(({ kind }) => kind === 'quantile');
  return steps.map((step, index) =>
    step.kind === 'combine' && index < last ? { ...step, byBound: true } : step,
  );
}
