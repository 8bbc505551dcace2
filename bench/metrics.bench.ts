// The store of time series: its rate of samples, their bytes on disk, and the times to read a day and a dashboard,
// compared with Prometheus over the same samples where it is installed.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prng } from '#base/prng.ts';
import { evaluate, neededFromMs } from '#metrics/query/evaluate.ts';
import { type Plan, planOf } from '#metrics/query/plan.ts';
import type { FlatSample, Labels } from '#metrics/sample.ts';
import { FolderStoreFiles } from '#metrics/store/files.adapter.ts';
import { fineBounds } from '#metrics/store/store.ts';
import { Tier } from '#metrics/store/tier.ts';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../test/support/manual-clock.ts';
import { type GivenSeries, Prometheus } from '../test/support/prometheus.ts';
import { busyNodeSamples } from './support/busy-node-samples.ts';

const stepMs = 10_000;
/** The time of the first sample: a multiple of the span of a block. */
const startMs = 1_700_006_400_000;
const dashboardQueries = 30;

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'divan-bench-metrics-'));
  try {
    await measure(folder, smoke);
    if (!smoke) await measureBusyNode(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(folder: string, smoke: boolean): Promise<void> {
  const steps = smoke ? 800 : 8_640;
  const given = trafficOf(smoke ? 60 : 300);
  const clock = new ManualClock(startMs);
  const tier = new Tier({ files: new FolderStoreFiles(folder), clock, log: silentLog, bounds: fineBounds });
  await tier.open();
  let inAppendMs = 0;
  const usage = process.cpuUsage();
  const startedMs = performance.now();
  for (let step = 0; step < steps; step++) {
    const samples = given.next();
    const beforeMs = performance.now();
    tier.append(startMs + step * stepMs, samples);
    inAppendMs += performance.now() - beforeMs;
    if (step % 60 === 59) await tier.written();
  }
  await tier.written();
  const total = steps * given.series;
  const { user, system } = process.cpuUsage(usage);
  console.log(
    `ingest: ${rate(total, inAppendMs)} in append; ${rate(total, performance.now() - startedMs)} with log, blocks and fsync`,
  );
  console.log(
    `        (${((user + system) / 1e6).toFixed(1)} s of processor time for ${total} samples, with the time to make them)`,
  );
  const { blocks, bytes } = blocksOf(folder);
  const inBlocks = blocks * stepsPerBlock * given.series;
  console.log(`disk: ${(bytes / inBlocks).toFixed(2)} bytes a sample in ${blocks} blocks`);
  const endMs = startMs + (steps - 1) * stepMs;
  await measureQueries('divan', (metric, functions) => queryTier(tier, metric, functions, endMs));
  await tier.close();
  if (!smoke) await measurePrometheus(steps, endMs);
}

const stepsPerBlock = fineBounds.spanMs / stepMs;

function blocksOf(folder: string): { blocks: number; bytes: number } {
  const names = readdirSync(folder).filter((name) => name.endsWith('.block'));
  return {
    blocks: names.length,
    bytes: names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0),
  };
}

/** Writes one block of a node's own metrics under load. */
async function measureBusyNode(folder: string): Promise<void> {
  const clock = new ManualClock(startMs);
  const files = new FolderStoreFiles(join(folder, 'own'));
  const tier = new Tier({ files, clock, log: silentLog, bounds: fineBounds });
  await tier.open();
  let [step, inBlock, operations] = [0, 0, 0];
  for await (const samples of busyNodeSamples(join(folder, 'data'), stepsPerBlock + 1)) {
    if (step < stepsPerBlock) inBlock += samples.length;
    operations = samples.reduce((sum, { name, value }) => (name === 'kv_ops' ? sum + value : sum), 0);
    tier.append(startMs + step * stepMs, samples);
    step++;
  }
  await tier.written();
  const { blocks, bytes } = blocksOf(join(folder, 'own'));
  const series = Math.round(inBlock / stepsPerBlock);
  const between = Math.round(operations / stepsPerBlock);
  console.log(
    `busy node: ${(bytes / inBlock).toFixed(2)} bytes a sample, ${series} series with ${between} operations per step, ${blocks} block`,
  );
  await tier.close();
}

const rate = (count: number, ms: number): string => `${(count / ms / 1000).toFixed(2)} M samples/s`;

/** Prints how long queries of a day of one metric and of a dashboard take. */
async function measureQueries(
  name: string,
  query: (metric: string, functions: string[]) => Promise<number>,
): Promise<void> {
  await query('m0', ['rate']);
  const day: number[] = [];
  for (let round = 0; round < 20; round++) day.push(await timed(() => query(`m${round % 10}`, [])));
  const dashboard: number[] = [];
  for (let round = 0; round < 5; round++) {
    dashboard.push(
      await timed(async () => {
        for (let panel = 0; panel < dashboardQueries; panel++)
          await query(`m${panel % 10}`, panel % 2 === 0 ? ['rate'] : ['avg_over_time', 'sum']);
      }),
    );
  }
  console.log(
    `${name}: a day of one metric ${median(day)} ms; a dashboard of ${dashboardQueries} ${median(dashboard)} ms (medians)`,
  );
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beforeMs = performance.now();
  await work();
  return performance.now() - beforeMs;
}

const median = (values: number[]): string =>
  (values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number).toFixed(1);

const dayMs = 86_400_000;

async function queryTier(tier: Tier, metric: string, functions: string[], endMs: number): Promise<number> {
  const plan = planOf(functions) as Plan;
  const range = { startMs: endMs - dayMs + stepMs, endMs, stepMs, windowMs: 60_000 };
  const { series } = await tier.select(
    [
      { label: '__name__', operator: '=', value: metric },
      { label: 'bucket', operator: '=', value: 'b0' },
    ],
    neededFromMs(plan, range),
    endMs,
  );
  return evaluate(plan, series, range).length;
}

async function measurePrometheus(steps: number, endMs: number): Promise<void> {
  const given = trafficOf(10);
  const series: (GivenSeries & { samples: [number, number][] })[] = given.labels.map((labels) => ({
    labels,
    samples: [],
  }));
  for (let step = 0; step < steps; step++) {
    for (const [at, { value }] of given.next().entries())
      series[at]?.samples.push([startMs + step * stepMs, value]);
  }
  const prometheus = await Prometheus.start(series).catch(() => null);
  if (prometheus === null) return console.log('prometheus: not installed');
  try {
    await measureQueries('prometheus over HTTP', async (metric, functions) => {
      const inner = `${metric}{bucket="b0"}`;
      const text = functions.reduce(
        (expression, name) => (name === 'sum' ? `sum(${expression})` : `${name}(${expression}[60s])`),
        inner,
      );
      return (await prometheus.range(text, { startMs: endMs - dayMs + stepMs, endMs, stepMs })).length;
    });
  } finally {
    await prometheus.stop();
  }
}

/**
 * As on a node: most values are constant, some counters grow, a few gauges change. Ten metrics per bucket, for as
 * many buckets as `series` needs.
 */
function trafficOf(series: number) {
  const random = prng(7);
  const values = new Float64Array(series);
  const labels: Labels[] = Array.from({ length: series }, (_, at) => ({
    __name__: `m${at % 10}`,
    bucket: `b${Math.floor(at / 10)}`,
  }));
  const bare = labels.map(({ __name__, ...rest }) => ({ name: __name__ as string, labels: rest }));
  return {
    series,
    labels,
    next(): FlatSample[] {
      return bare.map((sample, at) => {
        const kind = at % 10;
        if (kind === 0) values[at] = (values[at] as number) + random.below(5_000);
        else if (kind === 1) values[at] = 1e8 + random.below(1_000_000);
        else if (kind === 2 && random.below(20) === 0) values[at] = (values[at] as number) + 1;
        return { ...sample, value: values[at] as number };
      });
    },
  };
}
