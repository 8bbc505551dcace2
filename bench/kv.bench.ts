// The data port against `memcached -t 1` in the same run: 80/20 reads and writes of 256 bytes, 16 connections, with
// one request in flight on each and with 64. The load comes from a process of its own.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BucketType } from '../src/kv/admin.ts';
import { WorkerKvAdmin } from '../src/kv/host/worker-kv-admin.ts';
import { silentLog } from '../src/ports/log.ts';
import { aBucket, aDesired } from '../test/support/data-service.ts';
import type { LoadOptions } from './support/kv-load.ts';

const generator = fileURLToPath(new URL('./support/kv-load.ts', import.meta.url));
const shapes = [
  { name: 'unpipelined', connections: 16, pipeline: 1 },
  { name: 'pipelined by 64', connections: 16, pipeline: 64 },
];

async function measure(options: LoadOptions): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [generator, JSON.stringify(options)]);
  return Number(stdout);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startMemcached(): Promise<{ port: number; process: ChildProcess } | null> {
  const port = await freePort();
  const process = spawn('memcached', [
    '-t',
    '1',
    '-m',
    '256',
    '-l',
    '127.0.0.1',
    '-p',
    String(port),
    '-u',
    'root',
  ]);
  const isThere = await new Promise((resolve) => {
    process.once('error', () => resolve(false));
    process.once('spawn', () => setTimeout(() => resolve(true), 200));
  });
  return isThere ? { port, process } : null;
}

async function measureDivan(type: BucketType, seconds: number): Promise<number[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const admin = new WorkerKvAdmin({ log: silentLog, onLost: () => {} });
  const start = { dataDir, host: '127.0.0.1', port: 0, tlsPort: 0, version: 'bench', logLevel: 'silent' };
  const { port } = await admin.start(start);
  await admin.apply(aDesired({ buckets: [aBucket('b', { type })] }));
  const rates: number[] = [];
  for (const shape of shapes) rates.push(await measure({ ...shape, port, seconds, isDivan: true }));
  await admin.stop();
  rmSync(dataDir, { recursive: true });
  return rates;
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const seconds = smoke ? 0.2 : 4;
  const memcached = await startMemcached();
  const base: number[] = [];
  for (const shape of shapes) {
    if (memcached) base.push(await measure({ ...shape, port: memcached.port, seconds, isDivan: false }));
  }
  memcached?.process.kill();
  if (!memcached) console.log('memcached is not installed: no ratios');
  for (const [index, { name }] of shapes.entries()) report('memcached -t 1', name, base[index], undefined);
  for (const type of ['native', 'ephemeral'] as const) {
    const rates = await measureDivan(type, seconds);
    for (const [index, { name }] of shapes.entries())
      report(`${type} bucket`, name, rates[index], base[index]);
  }
}

function report(what: string, shape: string, rate: number | undefined, base: number | undefined): void {
  if (rate === undefined) return;
  const ratio = base === undefined ? '' : `  ${(rate / base).toFixed(2)}×`;
  console.log(
    `${what.padEnd(18)} ${shape.padEnd(16)} ${Math.round(rate).toString().padStart(9)} ops/s${ratio}`,
  );
}
