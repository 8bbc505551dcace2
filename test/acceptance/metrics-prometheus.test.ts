// The same samples in a real Prometheus and in our store: both must return the same results for the same queries.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Prng, prng } from '#base/prng.ts';
import { evaluate, neededFromMs, type Range } from '#metrics/query/evaluate.ts';
import { combiners, type Plan, planOf, windowFunctions } from '#metrics/query/plan.ts';
import type { Labels } from '#metrics/sample.ts';
import { FolderStoreFiles } from '#metrics/store/files.adapter.ts';
import { fineBounds } from '#metrics/store/store.ts';
import { Tier } from '#metrics/store/tier.ts';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { needs } from '../support/needs.ts';
import { type FoundSeries, type GivenSeries, Prometheus } from '../support/prometheus.ts';
import { printedSeed } from '../support/seed.ts';

const startMs = 1_700_000_000_000;
const hours = 5;
const endMs = startMs + hours * 3_600_000;
const queries = 500;
const metrics = ['requests', 'temperature', 'steady', 'took_bucket'] as const;

test(`the node answers ${queries} generated queries as Prometheus does`, {
  skip: needs('prometheus'),
}, async (t) => {
  const random = prng(printedSeed(t, 20_260_401));
  const series = madeSeries(random);
  const folder = mkdtempSync(join(tmpdir(), 'divan-compare-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [tier, prometheus] = await Promise.all([tierWith(folder, series), Prometheus.start(series)]);
  t.after(() => prometheus.stop());
  t.after(() => tier.close());
  let compared = 0;
  for (let query = 0; query < queries; query++) compared += await compare(random, tier, prometheus);
  t.diagnostic(`${compared} values compared`);
  assert.ok(compared > queries * 20, `only ${compared} values`);
});

async function compare(random: Prng, tier: Tier, prometheus: Prometheus): Promise<number> {
  const query = aQuery(random);
  const text = promQl(query);
  const plan = planOf(query.functions) as Plan;
  const { series } = await tier.select(
    [{ label: '__name__', operator: '=', value: query.metric }],
    neededFromMs(plan, query),
    query.endMs,
  );
  const divanSeries = new Map(
    evaluate(plan, series, query).map((row) => [
      keyOf(row.labels),
      [...row.has].flatMap((has, at) =>
        has ? [[query.startMs + at * query.stepMs, row.values[at] as number] as const] : [],
      ),
    ]),
  );
  const prometheusSeries = await prometheus.range(text, query);
  const about = `${text} ${JSON.stringify(query)}`;
  assert.deepEqual(
    [...divanSeries.keys()].sort(),
    prometheusSeries.map(({ metric }) => keyOf(metric)).sort(),
    about,
  );
  return prometheusSeries.reduce(
    (sum, expected) => sum + compareSeries(expected, divanSeries.get(keyOf(expected.metric)) ?? [], about),
    0,
  );
}

function compareSeries(
  { values }: FoundSeries,
  points: readonly (readonly [number, number])[],
  about: string,
): number {
  assert.deepEqual(
    points.map(([timeMs]) => timeMs),
    values.map(([seconds]) => Math.round(seconds * 1000)),
    about,
  );
  for (const [index, [seconds, text]] of values.entries()) {
    const [value, expected] = [points[index]?.[1] as number, numberOf(text)];
    const isSame =
      Object.is(value, expected) ||
      Math.abs(value - expected) <= 1e-9 * Math.max(Math.abs(value), Math.abs(expected));
    assert.ok(isSame, `${value} is not ${expected} at ${seconds}: ${about}`);
  }
  return values.length;
}

const numberOf = (text: string): number => Number(text.replace('Inf', 'Infinity'));

const keyOf = ({ __name__: _, ...labels }: Labels): string =>
  JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));

interface GeneratedQuery extends Range {
  metric: (typeof metrics)[number];
  functions: string[];
}

function aQuery(random: Prng): GeneratedQuery {
  const metric = random.pick(metrics);
  const functions: string[] = random.below(8) === 0 ? [] : [random.pick(windowFunctions)];
  if (random.below(2) === 0) functions.push(random.pick(combiners));
  if (metric === 'took_bucket' && random.below(2) === 0) functions.push(`p${1 + random.below(99)}`);
  const from = startMs - 600_000 + random.below(endMs - startMs);
  const stepMs = random.pick([1_000, 7_500, 10_000, 60_000, 333_000]);
  return {
    metric,
    functions,
    startMs: from,
    stepMs,
    endMs: from + random.below(200) * stepMs + random.below(stepMs),
    windowMs: random.pick([5_000, 20_000, 60_000, 61_500, 300_000, 3_600_000]),
  };
}

function promQl({ metric, functions, windowMs }: GeneratedQuery): string {
  return functions.reduce((inner, name, index) => {
    if ((windowFunctions as readonly string[]).includes(name)) return `${name}(${inner}[${windowMs}ms])`;
    if (name.startsWith('p')) return `histogram_quantile(${Number(name.slice(1)) / 100}, ${inner})`;
    const keepsBound = functions.slice(index).some((later) => later.startsWith('p'));
    return `${name}${keepsBound ? ' by (le)' : ''}(${inner})`;
  }, metric as string);
}

/** Series with counter resets, oscillating values, gaps of many lengths, and single samples. */
function madeSeries(random: Prng): GivenSeries[] {
  const labelled = (name: string, at: number, more: Labels = {}) => ({
    __name__: name,
    bucket: `b${at}`,
    ...more,
  });
  const counters = [0, 1, 2, 3, 4, 5].map((at) => ({
    labels: labelled('requests', at),
    samples: walk(random, (before) =>
      random.below(150) === 0 ? random.below(50) : before + random.below(1_000),
    ),
  }));
  const gauges = [0, 1, 2, 3].map((at) => ({
    labels: labelled('temperature', at),
    samples: walk(random, () => orSpecialValue(random, random.next() * 200 - 80)),
  }));
  const steady = [0, 1].map((at) => ({
    labels: labelled('steady', at),
    samples: walk(random, () => 12.5 * at),
  }));
  const single = { labels: labelled('steady', 9), samples: [[startMs + 3_600_000, 3]] as const };
  return [...counters, ...gauges, ...steady, single, ...histograms(random, labelled)];
}

const orSpecialValue = (random: Prng, value: number): number =>
  random.below(400) === 0 ? random.pick([Number.NaN, Number.POSITIVE_INFINITY, 0, 1e-9]) : value;

function walk(random: Prng, next: (before: number) => number): [number, number][] {
  const samples: [number, number][] = [];
  let value = random.below(100_000);
  for (let timeMs = startMs + random.below(10_000); timeMs < endMs; timeMs += 9_990 + random.below(20)) {
    if (random.below(120) === 0) timeMs += random.pick([30_000, 290_000, 299_000, 310_000, 900_000]);
    value = next(value);
    samples.push([timeMs, value]);
  }
  return samples;
}

function histograms(
  random: Prng,
  labelled: (name: string, at: number, more: Labels) => Labels,
): GivenSeries[] {
  const bounds = ['0.001', '0.01', '0.1', '1', '+Inf'];
  return [0, 1].flatMap((at) => {
    const times = walk(random, (before) => before).map(([timeMs]) => timeMs);
    const counts = bounds.map(() => 0);
    const grown = times.map(() => {
      const most = random.below(5);
      for (let index = most; index < bounds.length; index++)
        counts[index] = (counts[index] as number) + random.below(9) + index;
      return [...counts].map((_, index) => Math.max(...counts.slice(0, index + 1)));
    });
    return bounds.map((le, index) => ({
      labels: labelled('took_bucket', at, { le }),
      samples: times.map((timeMs, step) => [timeMs, (grown[step] as number[])[index] as number] as const),
    }));
  });
}

async function tierWith(folder: string, series: readonly GivenSeries[]): Promise<Tier> {
  const clock = new ManualClock(endMs);
  const tier = new Tier({ files: new FolderStoreFiles(folder), clock, log: silentLog, bounds: fineBounds });
  await tier.open();
  const samplesByTime = new Map<number, { name: string; labels: Labels; value: number }[]>();
  for (const {
    labels: { __name__, ...labels },
    samples,
  } of series) {
    for (const [timeMs, value] of samples) {
      const sample = { name: __name__ as string, labels, value };
      samplesByTime.set(timeMs, [...(samplesByTime.get(timeMs) ?? []), sample]);
    }
  }
  let samples = 0;
  for (const timeMs of [...samplesByTime.keys()].sort((a, b) => a - b)) {
    tier.append(timeMs, samplesByTime.get(timeMs) as { name: string; labels: Labels; value: number }[]);
    if (++samples % 300 === 0) await tier.written();
  }
  await tier.written();
  return tier;
}
