// The cost of metrics: processor time of an operation on the data port without collection, and with all metrics
// collected and stored each second, interleaved; and the time of the counting itself, which cannot be switched off.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { kvMetrics } from '../src/cluster/agent/kv-metrics.ts';
import { initialManifest } from '../src/cluster/config/cluster-state.ts';
import { CollectionCounts } from '../src/kv/collections/collection-counts.ts';
import { WorkerKvAdmin } from '../src/kv/host/worker-kv-admin.ts';
import { createMetrics } from '../src/metrics/metrics.feature.ts';
import { FolderStoreFiles } from '../src/metrics/store/files.adapter.ts';
import { realClock } from '../src/ports/clock.ts';
import { silentLog } from '../src/ports/log.ts';
import { aBucket, aDesired } from '../test/support/data-service.ts';
import { median } from './support/results.ts';

const generator = fileURLToPath(new URL('./support/kv-load.ts', import.meta.url));
const shapes = [
  { name: 'unpipelined', connections: 16, pipeline: 1 },
  { name: 'pipelined by 64', connections: 16, pipeline: 64 },
];

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Microseconds of processor time of this process for one operation. */
async function load(port: number, shape: object, seconds: number): Promise<number> {
  const cpuBeforeMs = processCpuMs();
  const options = JSON.stringify({ ...shape, port, seconds, protocol: 'divan' });
  const { stdout } = await promisify(execFile)(process.execPath, [generator, options]);
  return ((processCpuMs() - cpuBeforeMs) * 1000) / Number(stdout.split(' ')[1]);
}

function metricsOf(admin: WorkerKvAdmin, folder: string) {
  const places = ['fine', 'coarse'].map((name) => new FolderStoreFiles(join(folder, name)));
  const files = { fine: places[0] as FolderStoreFiles, coarse: places[1] as FolderStoreFiles };
  const metrics = createMetrics({ files, clock: realClock, log: silentLog });
  const about = { quotaBytes: 2 ** 28, evictsNothing: false, vbuckets: 1024, manifest: initialManifest() };
  metrics.registry.add('data', { collect: async () => kvMetrics(await admin.report(), () => about) });
  return metrics;
}

/** Nanoseconds that it takes to count an operation; the best of ten rounds. */
function countingNanoseconds(rounds: number): number {
  const collectionCounts = new CollectionCounts();
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 10; round++) {
    const start = process.hrtime.bigint();
    for (let index = 0; index < rounds; index++) {
      const counts = collectionCounts.countsOf(index & 64);
      counts.gets++;
      counts.getHits++;
    }
    best = Math.min(best, Number(process.hrtime.bigint() - start) / rounds);
  }
  return best;
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const [seconds, rounds] = smoke ? [0.1, 1] : [3, 5];
  const folder = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const admin = new WorkerKvAdmin({ log: silentLog, onLost: () => {} });
  const start = {
    dataDir: folder,
    host: '127.0.0.1',
    port: 0,
    tlsPort: 0,
    version: 'bench',
    logLevel: 'silent',
  };
  const { port } = await admin.start(start);
  await admin.apply(aDesired({ buckets: [aBucket('b', { type: 'ephemeral' })] }));
  await load(port, shapes[1] as object, seconds);
  for (const { name, ...shape } of shapes) {
    const [off, on]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      off.push(await load(port, shape, seconds));
      const metrics = metricsOf(admin, join(folder, `${name} ${round}`));
      metrics.start();
      on.push(await load(port, shape, seconds));
      await metrics.stop();
    }
    const change = 100 * (median(on) / median(off) - 1);
    const figures = [median(off), median(on)].map((value) => `${value.toFixed(2)} µs`);
    console.log(
      `${name.padEnd(16)} off ${figures[0]}, on ${figures[1]} of processor time each: ${change.toFixed(1)} %`,
    );
  }
  console.log(`counting takes ${countingNanoseconds(smoke ? 1e5 : 1e7).toFixed(1)} ns an operation`);
  await admin.stop();
  rmSync(folder, { recursive: true });
}
