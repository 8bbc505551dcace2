// The data port compared with `memcached -t 1` in the same run: 80/20 reads and writes of 256 bytes, 16 connections, with
// one request in flight on each and with 64. The load comes from a process of its own.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BucketType } from '../src/kv/admin.ts';
import { WorkerKvAdmin } from '../src/kv/host/worker-kv-admin.ts';
import { silentLog } from '../src/ports/log.ts';
import { aBucket, aDesired } from '../test/support/data-service.ts';
import type { LoadOptions } from './support/kv-load.ts';
import { startMemcached } from './support/peers.ts';
import { processMs } from './support/server-usage.ts';

const generator = fileURLToPath(new URL('./support/kv-load.ts', import.meta.url));
const shapes = [
  { name: 'unpipelined', connections: 16, pipeline: 1 },
  { name: 'pipelined by 64', connections: 16, pipeline: 64 },
];

interface Measured {
  opsPerSecond: number;
  /** Processor time of the server per operation; on a busy machine it varies less than the rate. */
  cpuMicroseconds: number;
}

async function measure(options: LoadOptions, cpuMs: () => number): Promise<Measured> {
  const cpuBeforeMs = cpuMs();
  const { stdout } = await promisify(execFile)(process.execPath, [generator, JSON.stringify(options)]);
  const [opsPerSecond = 0, operations = 1] = stdout.split(' ').map(Number);
  return { opsPerSecond, cpuMicroseconds: ((cpuMs() - cpuBeforeMs) * 1000) / operations };
}

/** Processor time of this process, in which the data service runs. */
function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function measureDivan(type: BucketType, seconds: number): Promise<Measured[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const admin = new WorkerKvAdmin({ log: silentLog, onLost: () => {} });
  const start = { dataDir, host: '127.0.0.1', port: 0, tlsPort: 0, version: 'bench', logLevel: 'silent' };
  const { port } = await admin.start(start);
  await admin.apply(aDesired({ buckets: [aBucket('b', { type })] }));
  const measured: Measured[] = [];
  for (const shape of shapes) {
    measured.push(await measure({ ...shape, port, seconds, protocol: 'divan' }, processCpuMs));
  }
  await admin.stop();
  rmSync(dataDir, { recursive: true });
  return measured;
}

/** An empty list if memcached is not installed. */
async function measureMemcached(seconds: number): Promise<Measured[]> {
  await using memcached = await startMemcached();
  if (memcached === null) return [];
  const { port, pid } = memcached;
  const measured: Measured[] = [];
  for (const shape of shapes)
    measured.push(await measure({ ...shape, port, seconds, protocol: 'memcached' }, () => processMs(pid)));
  return measured;
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const seconds = smoke ? 0.1 : 4;
  const base = await measureMemcached(seconds);
  if (base.length === 0) console.log('memcached is not installed: no ratios');
  for (const [index, { name }] of shapes.entries()) report('memcached -t 1', name, base[index], undefined);
  for (const type of ['native', 'ephemeral'] as const) {
    const measured = await measureDivan(type, seconds);
    for (const [index, { name }] of shapes.entries())
      report(`${type} bucket`, name, measured[index], base[index]);
  }
}

function report(
  what: string,
  shape: string,
  measured: Measured | undefined,
  base: Measured | undefined,
): void {
  if (measured === undefined) return;
  const ratio = base === undefined ? '' : `${(measured.opsPerSecond / base.opsPerSecond).toFixed(2)}×`;
  const rate = `${Math.round(measured.opsPerSecond).toString().padStart(8)} ops/s`;
  const cpu = `${measured.cpuMicroseconds.toFixed(2).padStart(6)} µs of processor time each`;
  console.log(`${what.padEnd(17)} ${shape.padEnd(16)} ${rate} ${ratio.padStart(6)} ${cpu}`);
}
