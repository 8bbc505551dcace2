// Functions of the samples inside one time window. Results equal those of Prometheus 2 (documentation of query functions),
// including the extrapolation of rates to the edges of the window.
import type { WindowFunction } from './plan.ts';

/** Samples from index `from` up to, not including, `to`; the window's ends in milliseconds. */
export interface Window {
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
  from: number;
  to: number;
  startMs: number;
  endMs: number;
}

/** `undefined` if the window has too few samples. */
export type ComputedValue = number | undefined;

const rate = { isCounter: true, isPerSecond: true };
const growth = { isCounter: true, isPerSecond: false };
const difference = { isCounter: false, isPerSecond: false };

export const compute: Record<WindowFunction, (window: Window) => ComputedValue> = {
  rate: (window) => extrapolated(window, rate),
  increase: (window) => extrapolated(window, growth),
  delta: (window) => extrapolated(window, difference),
  irate: (window) => lastChange(window, true),
  idelta: (window) => lastChange(window, false),
  deriv: slope,
  avg_over_time: average,
  min_over_time: (window) => extreme(window, (value, best) => value < best),
  max_over_time: (window) => extreme(window, (value, best) => value > best),
};

/** A rate is extrapolated to an edge of the window if the edge is within this many average sample intervals. */
const edgeTolerance = 1.1;

function extrapolated(
  window: Window,
  { isCounter, isPerSecond }: { isCounter: boolean; isPerSecond: boolean },
): ComputedValue {
  const { timesMs, values, from, to, startMs, endMs } = window;
  if (to - from < 2) return undefined;
  const first = values[from] as number;
  const firstMs = timesMs[from] as number;
  const lastMs = timesMs[to - 1] as number;
  const change = isCounter ? changeWithResets(window) : (values[to - 1] as number) - first;
  const sampledSeconds = (lastMs - firstMs) / 1000;
  const averageInterval = sampledSeconds / (to - from - 1);
  let toStart = (firstMs - startMs) / 1000;
  // Do not extrapolate a counter below zero.
  if (isCounter && change > 0 && first >= 0) toStart = Math.min(toStart, sampledSeconds * (first / change));
  const seconds =
    sampledSeconds + reach(toStart, averageInterval) + reach((endMs - lastMs) / 1000, averageInterval);
  const factor = seconds / sampledSeconds;
  return change * (isPerSecond ? factor / ((endMs - startMs) / 1000) : factor);
}

/** By how many seconds a rate is extrapolated beyond the first or last sample. */
const reach = (distanceToEdge: number, averageInterval: number): number =>
  distanceToEdge < averageInterval * edgeTolerance ? distanceToEdge : averageInterval / 2;

/** The change of a counter over the window: a falling value means that the counter was reset to zero. */
function changeWithResets({ values, from, to }: Window): number {
  let sum = (values[to - 1] as number) - (values[from] as number);
  for (let index = from + 1; index < to; index++) {
    const before = values[index - 1] as number;
    if ((values[index] as number) < before) sum += before;
  }
  return sum;
}

/** The change between the last two samples; per second, with the reset of a counter, or as a difference. */
function lastChange({ timesMs, values, from, to }: Window, isPerSecond: boolean): ComputedValue {
  if (to - from < 2) return undefined;
  const last = values[to - 1] as number;
  const before = values[to - 2] as number;
  const change = isPerSecond && last < before ? last : last - before;
  return isPerSecond ? change / (((timesMs[to - 1] as number) - (timesMs[to - 2] as number)) / 1000) : change;
}

/** A sum by the algorithm of Kahan and Neumaier. */
class CompensatedSum {
  #sum = 0;
  #lost = 0;

  add(value: number): void {
    const sum = this.#sum + value;
    const isLarger = Math.abs(this.#sum) >= Math.abs(value);
    this.#lost += isLarger ? this.#sum - sum + value : value - sum + this.#sum;
    this.#sum = sum;
  }

  /** The sum without the compensation. */
  get uncompensated(): number {
    return this.#sum;
  }

  /** The sum with the compensation added. */
  get value(): number {
    return this.#sum + this.#lost;
  }
}

/** The slope per second by least-squares regression. */
function slope({ timesMs, values, from, to }: Window): ComputedValue {
  const count = to - from;
  if (count < 2) return undefined;
  if (isConstant(values, from, to)) return Number.isFinite(values[from]) ? 0 : Number.NaN;
  const [x, y, xy, xx] = [
    new CompensatedSum(),
    new CompensatedSum(),
    new CompensatedSum(),
    new CompensatedSum(),
  ];
  for (let index = from; index < to; index++) {
    const seconds = ((timesMs[index] as number) - (timesMs[from] as number)) / 1000;
    const value = values[index] as number;
    x.add(seconds);
    y.add(value);
    xy.add(seconds * value);
    xx.add(seconds * seconds);
  }
  return (xy.value - (x.value * y.value) / count) / (xx.value - (x.value * x.value) / count);
}

function isConstant(values: Float64Array, from: number, to: number): boolean {
  for (let index = from + 1; index < to; index++) if (values[index] !== values[from]) return false;
  return true;
}

/** An incremental mean, so that large values do not overflow. */
function average({ values, from, to }: Window): ComputedValue {
  if (from === to) return undefined;
  const mean = new CompensatedSum();
  for (let index = from; index < to; index++) {
    const value = values[index] as number;
    const count = index - from + 1;
    const infinite = isInfinite(mean.uncompensated);
    if (infinite && (value === mean.uncompensated || Number.isFinite(value))) continue;
    mean.add(value / count - mean.uncompensated / count);
  }
  return isInfinite(mean.uncompensated) ? mean.uncompensated : mean.value;
}

export const isInfinite = (value: number): boolean => value === Infinity || value === -Infinity;

/** NaN is the result only if all values are NaN. */
function extreme(
  { values, from, to }: Window,
  isBetter: (value: number, best: number) => boolean,
): ComputedValue {
  if (from === to) return undefined;
  let best = values[from] as number;
  for (let index = from + 1; index < to; index++) {
    const value = values[index] as number;
    if (isBetter(value, best) || Number.isNaN(best)) best = value;
  }
  return best;
}
