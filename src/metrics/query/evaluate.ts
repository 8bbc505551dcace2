// Evaluates a range query: one value per series and step from start to end. Without a window function the value is the newest
// sample that is at most five minutes old, as in Prometheus.
import type { Series } from '../sample.ts';
import { applyStep, type Row } from './combine.ts';
import type { Plan, WindowFunction } from './plan.ts';
import { type Computed, compute, type Window } from './window-functions.ts';

/** A sample older than this is stale and gives no value (as in Prometheus). */
export const lookbackMs = 5 * 60_000;

export interface Range {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  readonly windowMs: number;
}

export const momentsOf = ({ startMs, endMs, stepMs }: Range): number =>
  endMs < startMs ? 0 : Math.floor((endMs - startMs) / stepMs) + 1;

/** The earliest timestamp that the query needs. */
export const neededFromMs = ({ window }: Plan, { startMs, windowMs }: Range): number =>
  startMs - (window === null ? lookbackMs : windowMs);

/** Rows with at least one value. */
export function evaluate(plan: Plan, series: readonly Series[], range: Range): Row[] {
  let rows: Row[] = series.map((one) =>
    plan.window === null ? newest(one, range) : windowed(one, range, plan.window),
  );
  for (const step of plan.steps) rows = applyStep(rows, step);
  return rows.filter(({ has }) => has.includes(1));
}

function newest({ labels, timesMs, values }: Series, range: Range): Row {
  const row = rowOf(labels, range);
  let next = 0;
  for (let at = 0; at < row.has.length; at++) {
    const momentMs = range.startMs + at * range.stepMs;
    while (next < timesMs.length && (timesMs[next] as number) <= momentMs) next++;
    if (next === 0 || (timesMs[next - 1] as number) < momentMs - lookbackMs) continue;
    row.values[at] = values[next - 1] as number;
    row.has[at] = 1;
  }
  return row;
}

function windowed({ labels, timesMs, values }: Series, range: Range, name: WindowFunction): Row {
  const row = rowOf(labels, range);
  const window: Window = { timesMs, values, from: 0, to: 0, startMs: 0, endMs: 0 };
  for (let at = 0; at < row.has.length; at++) {
    moveTo(window, range.startMs + at * range.stepMs, range.windowMs);
    const value: Computed = compute[name](window);
    if (value === undefined) continue;
    row.values[at] = value;
    row.has[at] = 1;
  }
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
  const moments = momentsOf(range);
  return { labels, values: new Float64Array(moments), has: new Uint8Array(moments) };
}
