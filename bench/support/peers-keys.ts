// Reads and writes of keys, and durable writes, interleaved against each server.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { portNumber } from '../../test/support/addresses.ts';
import { makeCertificate } from '../../test/support/certificate.ts';
import { administrator, NodeProcess } from '../../test/support/node-process.ts';
import type { LoadOptions } from './kv-load.ts';
import { type Peer, startEcho, startMemcached, startRedis } from './peers.ts';
import type { Extent, Figure } from './results.ts';
import { processMs } from './server-usage.ts';

const generator = fileURLToPath(new URL('./kv-load.ts', import.meta.url));
const shapes = [
  { name: 'one request at a time, 16 connections', connections: 16, pipeline: 1 },
  { name: '64 requests at a time, 16 connections', connections: 16, pipeline: 64 },
];
const durableShape = { name: '64 writes in flight', connections: 64, pipeline: 1 };
const inFlight = 64;

interface Target {
  readonly server: string;
  readonly pid: number;
  readonly load: Pick<LoadOptions, 'port' | 'protocol' | 'username' | 'bucket' | 'durable' | 'tls'>;
}

interface Measurement {
  readonly rate: number;
  readonly cpuMicroseconds: number;
}

export async function keys(extent: Extent): Promise<Figure[]> {
  await using node = await aNode();
  await using memcached = await startMemcached();
  await using redis = await startRedis('everysec');
  await using echo = await startEcho();
  const targets = [
    divan('Divan, bucket with a disk', node, 'native'),
    divan('Divan, ephemeral bucket', node, 'ephemeral'),
    ...peer('memcached -t 1', memcached, 'memcached'),
    ...peer('Redis, appendfsync everysec', redis, 'redis'),
    ...peer('echo server of Node', echo, 'memcached'),
  ];
  const found: Figure[] = [];
  for (const shape of shapes) found.push(...(await alternating('keys', targets, shape, extent)));
  return found;
}

/** An ephemeral bucket with and without TLS, and an echo server of the same runtime with and without TLS. */
export async function encryption(extent: Extent): Promise<Figure[]> {
  await using node = await aNode();
  await using echo = await startEcho();
  await using echoTls = await startEcho(await makeCertificate());
  const plain = divan('Divan, plain', node, 'ephemeral');
  const port = Number(node.ready.node.kvTls?.split(':').at(-1));
  const targets = [
    plain,
    { ...plain, server: 'Divan, TLS', load: { ...plain.load, port, tls: true } },
    ...peer('echo server of Node, plain', echo, 'memcached'),
    ...peer('echo server of Node, TLS', echoTls, 'memcached').map((target) => ({
      ...target,
      load: { ...target.load, tls: true },
    })),
  ];
  const found: Figure[] = [];
  for (const shape of shapes) found.push(...(await alternating('encryption', targets, shape, extent)));
  return found;
}

export async function durableWrites(extent: Extent): Promise<Figure[]> {
  await using node = await aNode();
  await using redis = await startRedis('always');
  const native = divan('Divan, persistToMajority', node, 'native');
  const targets = [
    { ...native, load: { ...native.load, durable: true } },
    ...peer('Redis, appendfsync always', redis, 'redis').map((target) => ({
      ...target,
      load: { ...target.load, durable: true },
    })),
  ];
  const found = await alternating('durable writes', targets, durableShape, extent);
  const sqlite = Array.from({ length: extent.rounds }, () => plainSqlite(extent.seconds));
  return [...found, figureOf('durable writes', 'plain SQLite, 64 rows a commit', durableShape.name, sqlite)];
}

async function aNode(): Promise<NodeProcess> {
  const node = await NodeProcess.start({ args: ['--bucket', 'native'] });
  const form = { name: 'ephemeral', bucketType: 'ephemeral', ramQuotaMB: '100', replicaNumber: '0' };
  const { status } = await node.request('/pools/default/buckets', 'POST', form);
  if (status !== 202) throw new Error(`creating the bucket was answered with ${status}`);
  return node;
}

const divan = (server: string, node: NodeProcess, bucket: string): Target => ({
  server,
  pid: node.pid,
  load: {
    port: portNumber(node.ready.node.kv),
    protocol: 'divan',
    username: administrator.username,
    bucket,
  },
});

function peer(server: string, found: Peer | null, protocol: LoadOptions['protocol']): Target[] {
  if (found === null) console.log(`skipped: ${server} is not installed`);
  return found === null ? [] : [{ server, pid: found.pid, load: { port: found.port, protocol } }];
}

/** Each round measures every server once, so that other load of the machine affects all of them. */
async function alternating(
  group: string,
  targets: readonly Target[],
  shape: (typeof shapes)[number],
  { rounds, seconds }: Extent,
): Promise<Figure[]> {
  const measurements = targets.map((): Measurement[] => []);
  for (let round = 0; round < rounds; round++)
    for (const [index, target] of targets.entries())
      measurements[index]?.push(await measure(target, { ...shape, ...target.load, seconds }));
  return targets.map(({ server }, index) =>
    figureOf(group, server, shape.name, measurements[index] as Measurement[]),
  );
}

async function measure({ pid }: Target, options: LoadOptions): Promise<Measurement> {
  const cpuBeforeMs = processMs(pid);
  const { stdout } = await promisify(execFile)(process.execPath, [generator, JSON.stringify(options)]);
  const [rate = 0, operations = 1] = stdout.split(' ').map(Number);
  return { rate, cpuMicroseconds: ((processMs(pid) - cpuBeforeMs) * 1000) / operations };
}

const figureOf = (
  group: string,
  server: string,
  shape: string,
  measurements: readonly Measurement[],
): Figure => ({
  group,
  server,
  shape,
  unit: 'operations/s',
  values: measurements.map(({ rate }) => rate),
  cpuMicroseconds: measurements.map(({ cpuMicroseconds }) => cpuMicroseconds),
});

/** SQLite alone: each commit is synced and has as many writes as the other servers have in flight. */
function plainSqlite(seconds: number): Measurement {
  const folder = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const db = new DatabaseSync(join(folder, 'plain.db'));
  db.exec('pragma page_size=8192; pragma journal_mode=wal; pragma synchronous=full;');
  db.exec('create table t(key blob primary key, value blob) without rowid');
  const put = db.prepare('insert or replace into t values(?, ?)');
  const value = Buffer.alloc(256, 'v');
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  let rows = 0;
  while (performance.now() - startedMs < seconds * 1000) {
    db.exec('begin');
    for (let row = 0; row < inFlight; row++)
      put.run(Buffer.from(`user:profile:${Math.imul(rows++, 7919) % 10_000}`), value);
    db.exec('commit');
  }
  const rate = (rows * 1000) / (performance.now() - startedMs);
  const { user, system } = process.cpuUsage(cpu);
  db.close();
  rmSync(folder, { recursive: true });
  return { rate, cpuMicroseconds: (user + system) / rows };
}
