// Evaluates a range query: one value per series and step from start to end. Without a window function the value is the newest
// sample that is at most five minutes old, as in Prometheus.
import type { Series } from '../sample.ts';
import { aggregated, type Row } from './combine.ts';
import type { Plan, WindowFunction } from './plan.ts';
import { type ComputedValue, compute, type Window } from './window-functions.ts';

/** A sample older than this is stale and gives no value (as in Prometheus). */
const lookbackMs = 5 * 60_000;

/** How many samples of windows are evaluated between two yields: a few milliseconds of work. */
const sliceSamples = 50_000;

export interface Range {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  readonly windowMs: number;
}

/** The number of values of each series. */
export const stepsIn = ({ startMs, endMs, stepMs }: Range): number =>
  endMs < startMs ? 0 : Math.floor((endMs - startMs) / stepMs) + 1;

/** The earliest timestamp that the query needs. */
export const neededFromMs = ({ window }: Plan, { startMs, windowMs }: Range): number =>
  startMs - (window === null ? lookbackMs : windowMs);

/** Evaluates synchronously. Returns rows with at least one value. */
export function evaluate(plan: Plan, series: readonly Series[], range: Range): Row[] {
  const slices = evaluateInSlices(plan, series, range);
  for (;;) {
    const { done, value } = slices.next();
    if (done) return value;
  }
}

/** Evaluates in slices, between which the caller can pause. Yields the number of samples that windows had since the previous yield. */
export function* evaluateInSlices(
  plan: Plan,
  series: readonly Series[],
  range: Range,
): Generator<number, Row[]> {
  let rows: Row[] = [];
  for (const oneSeries of series) rows.push(yield* rowOfSeries(oneSeries, range, plan));
  for (const aggregation of plan.aggregations) {
    yield 0;
    rows = yield* aggregated(rows, aggregation);
  }
  return rows.filter(({ has }) => has.includes(1));
}

function* rowOfSeries(series: Series, range: Range, { window }: Plan): Generator<number, Row> {
  if (window !== null) return yield* windowed(series, range, window);
  yield 0;
  return newest(series, range);
}

function newest({ labels, timesMs, values }: Series, range: Range): Row {
  const row = rowOf(labels, range);
  let next = 0;
  for (let index = 0; index < row.has.length; index++) {
    const evaluationMs = range.startMs + index * range.stepMs;
    while (next < timesMs.length && (timesMs[next] as number) <= evaluationMs) next++;
    if (next === 0 || (timesMs[next - 1] as number) < evaluationMs - lookbackMs) continue;
    row.values[index] = values[next - 1] as number;
    row.has[index] = 1;
  }
  return row;
}

function* windowed(
  { labels, timesMs, values }: Series,
  range: Range,
  name: WindowFunction,
): Generator<number, Row> {
  const row = rowOf(labels, range);
  const window: Window = { timesMs, values, from: 0, to: 0, startMs: 0, endMs: 0 };
  let samples = 0;
  for (let index = 0; index < row.has.length; index++) {
    moveTo(window, range.startMs + index * range.stepMs, range.windowMs);
    samples += window.to - window.from + 1;
    if (samples >= sliceSamples) {
      yield samples;
      samples = 0;
    }
    const value: ComputedValue = compute[name](window);
    if (value === undefined) continue;
    row.values[index] = value;
    row.has[index] = 1;
  }
  yield samples;
  return row;
}

/** The window includes both ends. */
function moveTo(window: Window, endMs: number, windowMs: number): void {
  const { timesMs } = window;
  window.endMs = endMs;
  window.startMs = endMs - windowMs;
  while (window.to < timesMs.length && (timesMs[window.to] as number) <= endMs) window.to++;
  while (window.from < window.to && (timesMs[window.from] as number) < window.startMs) window.from++;
}

function rowOf(labels: Series['labels'], range: Range): Row {
  const steps = stepsIn(range);
  return { labels, values: new Float64Array(steps), has: new Uint8Array(steps) };
}
