// Many buckets and many connections: the start of a node with thirty buckets, its memory and processor time while idle, and the same with
// ten thousand connections that have logged in and send nothing.

import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeRequest } from '../src/wire/output.ts';
import { Status } from '../src/wire/status.ts';
import { portNumber } from '../test/support/addresses.ts';
import { administrator, NodeProcess } from '../test/support/node-process.ts';
import { Opcode } from '../test/support/opcodes.ts';
import { HeaderOffset } from './support/header-offsets.ts';
import { residentMb, threadsMs } from './support/server-usage.ts';

const bucketQuotaMb = 100;
/** Connections that log in at the same time. */
const openAtOnce = 50;

interface Idle {
  /** Resident memory. */
  readonly mb: number;
  /** Processor time. */
  readonly msPerSecond: number;
}

export interface ManyFigures {
  /** From the command until all buckets are ready: elapsed and processor time. */
  readonly startsMs: readonly number[];
  readonly startsCpuMs: readonly number[];
  readonly idle: Idle;
  readonly idleWithConnections: Idle;
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const extent = smoke
    ? { buckets: 3, connections: 100, starts: 1, settleMs: 0, idleMs: 1_000 }
    : { buckets: 30, connections: 10_000, starts: 5, settleMs: 35_000, idleMs: 30_000 };
  const { startsMs, startsCpuMs, idle, idleWithConnections } = await measureMany(extent);
  const list = (values: readonly number[]): string => values.map((value) => value.toFixed(0)).join(', ');
  console.log(
    `${extent.buckets} buckets: ready after ${list(startsMs)} ms, ${list(startsCpuMs)} ms of processor time`,
  );
  for (const [what, { mb, msPerSecond }] of [
    ['idle', idle],
    [`with ${extent.connections} idle connections`, idleWithConnections],
  ] as const)
    console.log(`${what}: ${mb.toFixed(0)} MB, ${msPerSecond.toFixed(1)} ms of processor time a second`);
}

export async function measureMany(extent: {
  readonly buckets: number;
  readonly connections: number;
  readonly starts: number;
  /** The wait before a measurement: threads collect the garbage of a start once they have been idle for some seconds. */
  readonly settleMs: number;
  /** The duration of a measurement. */
  readonly idleMs: number;
}): Promise<ManyFigures> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  try {
    await createBuckets(dataDir, extent.buckets);
    const [startsMs, startsCpuMs]: [number[], number[]] = [[], []];
    for (let start = 1; start < extent.starts; start++) {
      const { node, ms, cpuMs } = await startWithBuckets(dataDir, extent.buckets);
      await node.stop();
      startsMs.push(ms);
      startsCpuMs.push(cpuMs);
    }
    const { node, ms, cpuMs } = await startWithBuckets(dataDir, extent.buckets);
    await using _ = node;
    const idle = await measureIdle(node, extent);
    const sockets = await openConnections(node, extent.connections);
    const idleWithConnections = await measureIdle(node, extent);
    for (const socket of sockets) socket.destroy();
    return {
      startsMs: [...startsMs, ms],
      startsCpuMs: [...startsCpuMs, cpuMs],
      idle,
      idleWithConnections,
    };
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

async function createBuckets(dataDir: string, count: number): Promise<void> {
  await using node = await NodeProcess.start({ dataDir });
  await node.request('/pools/default', 'POST', { memoryQuota: `${count * bucketQuotaMb}` });
  for (let i = 0; i < count; i++) {
    const form = { name: `b${i}`, ramQuotaMB: `${bucketQuotaMb}`, replicaNumber: '0' };
    const { status } = await node.request('/pools/default/buckets', 'POST', form);
    if (status !== 202) throw new Error(`bucket ${i}: ${status}`);
  }
  await node.stop();
}

/** Starts a node on the folder; resolves when all buckets are ready, with the elapsed and the processor time. */
async function startWithBuckets(dataDir: string, count: number) {
  const startedMs = performance.now();
  const node = await NodeProcess.start({ dataDir });
  while ((await readyBuckets(node)) < count) await wait(5);
  return { node, ms: performance.now() - startedMs, cpuMs: threadsMs(node.pid) };
}

async function readyBuckets(node: NodeProcess): Promise<number> {
  const response = await node.request('/pools/default/buckets?skipMap=true');
  const found = (await response.json()) as { nodes: { status: string }[] }[];
  return found.filter(({ nodes }) => nodes[0]?.status === 'healthy').length;
}

async function measureIdle(
  { pid }: NodeProcess,
  { settleMs, idleMs }: { settleMs: number; idleMs: number },
): Promise<Idle> {
  await wait(settleMs);
  const cpuBeforeMs = threadsMs(pid);
  await wait(idleMs);
  return { mb: residentMb(pid), msPerSecond: (threadsMs(pid) - cpuBeforeMs) / (idleMs / 1000) };
}

async function openConnections(node: NodeProcess, count: number): Promise<Socket[]> {
  const port = portNumber(node.ready.node.kv);
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const next = Array.from({ length: Math.min(openAtOnce, count - sockets.length) }, () => loggedIn(port));
    sockets.push(...(await Promise.all(next)));
  }
  return sockets;
}

const login = encodeRequest({
  opcode: Opcode.saslAuth,
  key: Buffer.from('PLAIN'),
  value: Buffer.from(`\0${administrator.username}\0${administrator.password}`),
});

const loggedIn = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(login));
    socket.once('error', reject);
    socket.once('data', (reply: Buffer) => {
      const status = reply.readUInt16BE(HeaderOffset.status);
      if (status === Status.success) resolve(socket);
      else reject(new Error(`the login was answered with status ${status}`));
    });
  });

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
