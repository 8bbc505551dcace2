// Replication between clusters of one node each, both on this machine: documents of 1 kB for each second of processor time of all
// processes, compared with a loader that sets the same documents on the target directly; memory during a backfill; and how late changes
// arrive. DIVAN_XDCR_DOCUMENTS sets the number of documents, DIVAN_XDCR_PROFILES a folder for profiles of the nodes.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { StoreRequest } from '#client/bucket-client.ts';
import { ChangeConnection } from '#client/change-connection.ts';
import { vbucketCount } from '#client/document-key.ts';
import { dataAddress, portNumber } from '../test/support/addresses.ts';
import { administrator, NodeProcess } from '../test/support/node-process.ts';
import { bodyOf, clientOf, createReplication, referenceTo, taskOf } from '../test/support/xdcr.ts';
import { aValue, type DocumentLoad, type DocumentLoadResult } from './support/document-load.ts';
import { processMs, residentMb } from './support/server-usage.ts';

const generator = fileURLToPath(new URL('./support/document-load.ts', import.meta.url));
const bucket = 'b';
const quotaMb = 1024;
const window = 64;
const args = ['--services', 'kv', '--memory-quota', String(2 * quotaMb)];

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const count = Number(process.env['DIVAN_XDCR_DOCUMENTS'] ?? (smoke ? 2_000 : 300_000));
  const rounds = smoke ? 1 : 2;
  for (let round = 0; round < rounds; round++) {
    const direct = await directly(count);
    const replicated = await backfill(count);
    const share = replicated.perCpuSecond / direct.perCpuSecond;
    console.log(`a loader, ${window} in flight   ${shownRate(direct)}`);
    console.log(
      `replication, ${count} documents   ${shownRate(replicated)}, ${share.toFixed(2)}× of the loader (limit 0.5×)`,
    );
    console.log(`  memory in MB over time, source and target: ${replicated.memory.join(' ')}`);
  }
  const { medianMs, p99Ms, longestMs, rate } = await live(smoke ? 0.2 : 20);
  console.log(
    `live at ${rate.toFixed(0)} sets/s   median ${medianMs.toFixed(1)} ms, 99th percentile ${p99Ms.toFixed(1)} ms (limit 50 ms), longest ${longestMs.toFixed(1)} ms`,
  );
}

interface Measured {
  readonly perSecond: number;
  /** By the processor time of all processes. */
  readonly perCpuSecond: number;
}

const shownRate = ({ perSecond, perCpuSecond }: Measured): string =>
  `${perSecond.toFixed(0)} documents/s, ${perCpuSecond.toFixed(0)} for each second of processor time`;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function aNode(): Promise<NodeProcess> {
  const profile = process.env['DIVAN_XDCR_PROFILES'];
  const environment = profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` };
  const node = await NodeProcess.start({ args, environment });
  const form = { name: bucket, ramQuotaMB: String(quotaMb), replicaNumber: '0' };
  const created = await node.request('/pools/default/buckets', 'POST', form);
  if (created.status !== 202) throw new Error(`the bucket was not created: ${await created.text()}`);
  for (;;) {
    try {
      (await clientOf(node)).close();
      return node;
    } catch {
      await sleep(20);
    }
  }
}

async function loadInto(node: NodeProcess, count: number): Promise<DocumentLoadResult> {
  const load: DocumentLoad = { port: portNumber(node.ready.node.kv), bucket, count, window };
  const { stdout } = await promisify(execFile)(process.execPath, [generator, JSON.stringify(load)]);
  return JSON.parse(stdout) as DocumentLoadResult;
}

/** Processor time of all threads of the nodes. */
const cpuMs = (nodes: readonly NodeProcess[]): number =>
  nodes.reduce((sum, { pid }) => sum + processMs(pid), 0);

async function directly(count: number): Promise<Measured> {
  await using target = await aNode();
  const cpuBeforeMs = cpuMs([target]);
  const { seconds, cpuMs: loaderMs } = await loadInto(target, count);
  await untilIdle([target]);
  return measured(count, seconds, cpuMs([target]) - cpuBeforeMs + loaderMs);
}

const measured = (count: number, seconds: number, ms: number): Measured => ({
  perSecond: count / seconds,
  perCpuSecond: (count * 1000) / ms,
});

/** The processor time of a node in half a second up to which it counts as idle. */
const idleMsMax = 30;

/** Resolves once the nodes take hardly any processor time: what was written is on disk. */
async function untilIdle(nodes: readonly NodeProcess[]): Promise<void> {
  for (let lastCpuMs = cpuMs(nodes); ; ) {
    await sleep(500);
    const nowCpuMs = cpuMs(nodes);
    if (nowCpuMs - lastCpuMs <= idleMsMax * nodes.length) return;
    lastCpuMs = nowCpuMs;
  }
}

async function backfill(count: number): Promise<Measured & { memory: string[] }> {
  await using source = await aNode();
  await using target = await aNode();
  await loadInto(source, count);
  await untilIdle([source]);
  await source.request('/pools/default/remoteClusters', 'POST', referenceTo(target)).then(bodyOf);
  const nodes = [source, target];
  const [cpuBeforeMs, startedMs] = [cpuMs(nodes), performance.now()];
  await createReplication(source, { statsInterval: '1000' });
  const memory: string[] = [];
  const sampleMs = Math.max(1_000, count / 200);
  let sampledMs = 0;
  for (;;) {
    await sleep(250);
    const elapsedMs = performance.now() - startedMs;
    if (elapsedMs - sampledMs >= sampleMs) {
      memory.push([source, target].map(({ pid }) => residentMb(pid).toFixed(0)).join('/'));
      sampledMs = elapsedMs;
    }
    if ((await itemsOf(target)) === count) break;
  }
  const seconds = (performance.now() - startedMs) / 1000;
  await untilIdle(nodes);
  return { ...measured(count, seconds, cpuMs(nodes) - cpuBeforeMs), memory };
}

async function itemsOf(node: NodeProcess): Promise<number> {
  const client = await clientOf(node);
  const count = await client.itemCount(0);
  client.close();
  return count;
}

const setsPerSecond = 5_000;
const tickMs = 10;

/** How long after its SET at the source a document arrives in a change stream of the target. */
async function live(seconds: number) {
  await using source = await aNode();
  await using target = await aNode();
  await source.request('/pools/default/remoteClusters', 'POST', referenceTo(target)).then(bodyOf);
  await createReplication(source);
  while ((await taskOf(source))?.status !== 'running') await sleep(50);
  const sentMs = new Map<string, number>();
  const delays: number[] = [];
  /** Arrivals that do not count. */
  const warmUp = setsPerSecond * Math.min(3, seconds / 2);
  const connection = await openChanges(target, (key) => {
    const sent = sentMs.get(key);
    if (sent === undefined) return;
    delays.push(performance.now() - sent);
    sentMs.delete(key);
  });
  const client = await clientOf(source);
  const values = Array.from({ length: 100 }, (_, index) => aValue(index));
  const perTick = (setsPerSecond * tickMs) / 1000;
  const total = setsPerSecond * seconds;
  const startMs = performance.now();
  for (let next = 0; next < total; next += perTick) {
    const waitMs = startMs + (next / perTick) * tickMs - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const requests = Array.from(
      { length: perTick },
      (_, at): StoreRequest => ({
        kind: 'set',
        key: `live-${next + at}`,
        value: values[at % 100] as Buffer,
        expiry: 0,
        cas: 0n,
      }),
    );
    const nowMs = performance.now();
    for (const { key } of requests) sentMs.set(key, nowMs);
    await client.storeMany(0, requests);
  }
  const rate = (total * 1000) / (performance.now() - startMs);
  while (delays.length < total) await sleep(20);
  connection.close();
  client.close();
  const sorted = delays.slice(warmUp).sort((a, b) => a - b);
  const quantile = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
  return { medianMs: quantile(0.5), p99Ms: quantile(0.99), longestMs: quantile(1), rate };
}

async function openChanges(node: NodeProcess, changed: (key: string) => void): Promise<ChangeConnection> {
  const connection = await ChangeConnection.open({
    address: dataAddress(node),
    account: administrator,
    bucket,
    name: 'bench',
    withXattrs: false,
    handler: {
      change: ({ key }) => changed(key),
      opened() {},
      ended() {},
      snapshot() {},
      advanced() {},
      event() {},
      drained() {},
    },
  });
  const from = { uuid: 0n, seqno: 0, snapshotStart: 0, snapshotEnd: 0 };
  for (let vb = 0; vb < vbucketCount; vb++) await connection.request(vb, { from });
  return connection;
}
