// Clusters of two and three nodes, all on this machine: what copies and `majority` cost, also with the configuration on NATS servers, how fast
// shards move, how long a start, a restart and failovers take, and what an idle node needs. Each line ends with the limit that it is measured against.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { promiseMsMax } from '../src/kv/admin.ts';
import { portNumber } from '../test/support/addresses.ts';
import { freePort } from '../test/support/free-port.ts';
import { addNode, joinNodes, rebalance } from '../test/support/join-nodes.ts';
import { natsServerPath, natsVersionOf } from '../test/support/nats-binary.ts';
import { NatsCluster } from '../test/support/nats-servers.ts';
import { NodeProcess } from '../test/support/node-process.ts';
import type { ClusterLoad, ClusterLoadResult } from './support/cluster-load.ts';
import { fillBucket } from './support/fill-bucket.ts';
import { untilWritten } from './support/first-write.ts';
import { median } from './support/results.ts';
import { processMs, residentMb } from './support/server-usage.ts';
import { ShardWriters } from './support/shard-writers.ts';

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const generator = fileURLToPath(new URL('./support/cluster-load.ts', import.meta.url));
const firstArgs = ['--services', 'kv', '--memory-quota', '512'];
const bucket = 'b';
const vbucketCount = 1024;

/** The map of a bucket, as `GET /pools/default/b/<bucket>` answers it. */
interface Terse {
  vBucketServerMap: { serverList: string[]; vBucketMap: number[][] };
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const seconds = smoke ? 0.1 : 2;
  await pair(seconds, smoke ? { warmUp: 0, measured: 1 } : { warmUp: 1, measured: 7 });
  await rebalanced(smoke);
  await onNats(smoke, seconds);
  await measureThreeNodes(smoke);
}

const unprovisioned = async (): Promise<NodeProcess> =>
  NodeProcess.start({ unprovisioned: true, args: ['--services', 'kv'], ports: await fixedPorts() });

/** Fixed ports: a node that is killed and started again has the ports that the other nodes know. */
async function fixedPorts(): Promise<Record<string, number>> {
  const names = ['rest', 'rest-tls', 'kv', 'kv-tls', 'dist-tls', 'replication'];
  const ports: Record<string, number> = {};
  for (const name of names) ports[name] = await freePort();
  return ports;
}

async function post(node: NodeProcess, path: string, form: Record<string, string>): Promise<void> {
  const answer = await node.request(path, 'POST', form);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}

const createBucket = (node: NodeProcess, name: string, replicas: number, megabytes = 200): Promise<void> =>
  post(node, '/pools/default/buckets', {
    name,
    ramQuotaMB: String(megabytes),
    replicaNumber: String(replicas),
  });

/** By vbucket: the data port of its active node. */
async function activesOf(node: NodeProcess, name: string): Promise<number[]> {
  const { vBucketServerMap } = (await (await node.request(`/pools/default/b/${name}`)).json()) as Terse;
  const ports = vBucketServerMap.serverList.map(portNumber);
  return vBucketServerMap.vBucketMap.map(([active = -1]) => ports[active] ?? 0);
}

interface Measured extends ClusterLoadResult {
  /** Operations for each second of processor time of all nodes. */
  perCpuSecond: number;
}

async function measure(
  nodes: readonly NodeProcess[],
  shape: Pick<ClusterLoad, 'inFlight' | 'durable' | 'seconds'> & {
    bucket?: string;
    connections?: number;
    /** The nodes are no cluster: each gets the writes of its share of the vbuckets. */
    areAlone?: boolean;
  },
): Promise<Measured> {
  const name = shape.bucket ?? bucket;
  const ports = nodes.map(({ ready }) => portNumber(ready.node.kv)).slice(0, shape.connections);
  const load: ClusterLoad = {
    ...shape,
    bucket: name,
    ports,
    actives: shape.areAlone ? sharesOf(ports) : await activesOf(nodes[0] as NodeProcess, name),
  };
  if (!shape.areAlone) await untilInSync(nodes[0] as NodeProcess);
  const cpuBeforeMs = cpuMs(nodes);
  const { stdout } = await promisify(execFile)(process.execPath, [generator, JSON.stringify(load)]);
  const result = JSON.parse(stdout) as ClusterLoadResult;
  return { ...result, perCpuSecond: (result.operations * 1000) / (cpuMs(nodes) - cpuBeforeMs) };
}

/** Resolves once the copies have caught up with the previous load. */
async function untilInSync(node: NodeProcess): Promise<void> {
  for (;;) {
    const { nodes } = (await (await node.request('/pools/default/buckets/b')).json()) as {
      nodes: { replication: number }[];
    };
    if (nodes.length === 1 || nodes.every(({ replication }) => replication === 1)) return;
    await wait(50);
  }
}

/** Processor time of all threads of the nodes. */
const cpuMs = (nodes: readonly NodeProcess[]): number =>
  nodes.reduce((sum, { pid }) => sum + processMs(pid), 0);

const writes = { inFlight: 64, durable: false };

const sharesOf = (ports: readonly number[]): number[] =>
  Array.from({ length: vbucketCount }, (_, vb) => ports[vb % ports.length] ?? 0);

/** How long writes are measured before a rebalance. */
const beforeRebalanceMs = 4_000;
/** After this time without requests, the threads of a node have collected their garbage. */
const untilIdleMs = 40_000;

/** How often each load runs: before the measurement, and measured. */
interface Rounds {
  readonly warmUp: number;
  readonly measured: number;
}

/** Measures one load in turn on two nodes that are no cluster and on two nodes of a cluster. */
async function pair(seconds: number, rounds: Rounds): Promise<void> {
  await using one = await NodeProcess.start({ args: firstArgs });
  await using other = await NodeProcess.start({ args: firstArgs });
  await using first = await NodeProcess.start({ args: firstArgs });
  await using second = await unprovisioned();
  await joinNodes(first, [second]);
  const [alone, nodes] = [
    [one, other],
    [first, second],
  ];
  for (const node of alone) await createBucket(node, bucket, 0);
  await createBucket(first, bucket, 1);
  await createBucket(first, 'single', 0);
  const measured: Round[] = [];
  for (let round = -rounds.warmUp; round < rounds.measured; round++) {
    const plain = await measure(alone, { ...writes, seconds, areAlone: true });
    const single = await measure(nodes, { ...writes, seconds, bucket: 'single' });
    const copied = await measure(nodes, { ...writes, seconds });
    const durable = await measure(nodes, { inFlight: 32, durable: true, seconds });
    if (round >= 0) measured.push({ plain, single, copied, durable });
  }
  print('two nodes, no cluster', rates(best(measured, 'plain')));
  print(
    'a cluster, no copies',
    `${rates(best(measured, 'single'))}, ${shares(measured, 'single')}, limit 0.97×)`,
  );
  print(
    'a cluster, one copy',
    `${rates(best(measured, 'copied'))}, ${shares(measured, 'copied')}, limit 0.4×)`,
  );
  print(
    'majority, 64 in flight',
    `${rates(best(measured, 'durable'))} (limits 60,000/s and a median of 1 ms)`,
  );
  await oneAtATime(nodes, seconds);
}

type Shape = 'plain' | 'single' | 'copied' | 'durable';
type Round = Readonly<Record<Shape, Measured>>;

/** Other programs use the processors too: the best round is the one that they affected least. */
function best(rounds: readonly Round[], shape: Shape): Measured {
  const sorted = rounds.map((round) => round[shape]).sort((a, b) => b.perCpuSecond - a.perCpuSecond);
  return sorted[0] as Measured;
}

/** Only rates of the same round are compared: the speed of the processors changes from round to round by a factor of two on some hosts. */
function shares(rounds: readonly Round[], shape: Shape): string {
  const ratios = rounds.map((round) => round[shape].perCpuSecond / round.plain.perCpuSecond);
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)];
  return `${median(ratios).toFixed(2)}× of no cluster (${low.toFixed(2)} to ${high.toFixed(2)}`;
}

async function oneAtATime(nodes: readonly NodeProcess[], seconds: number): Promise<void> {
  const load = { inFlight: 1, connections: 1, seconds };
  const [slow, fast] = [
    await measure(nodes, { ...load, durable: true }),
    await measure(nodes, { ...load, durable: false }),
  ];
  print(
    'one at a time',
    `majority ${rates(slow)}; plain ${rates(fast)}; ${(slow.rate / fast.rate).toFixed(2)}× (limit 0.5×)`,
  );
}

const percentile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(0);

/** Half of the shards move to a node that joins, while clients write to some vbuckets, and then to another one, without clients. */
async function rebalanced(smoke: boolean): Promise<void> {
  const [count, bytes] = [smoke ? 1_024 : 400_000, 1_000];
  await using first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '1024'] });
  await using second = await unprovisioned();
  await using third = await unprovisioned();
  await createBucket(first, bucket, 0, 800);
  await fillBucket([first], bucket, { actives: new Array(vbucketCount).fill(0), count, bytes });
  const megabytes = (count * bytes) / 2 / 1e6;
  await addNode(first, second);
  await rebalancedUnderWrites([first, second], megabytes, smoke);
  await addNode(first, third);
  const beganMs = performance.now();
  const swapped = rebalance(first, [await nameOf(first, portNumber(second.ready.node.kv))]);
  // The node leaves only when clients know the new map, seconds later.
  await untilServesNone(first, second);
  print('rebalance without clients', rateOf(megabytes, performance.now() - beganMs));
  await swapped;
}

async function rebalancedUnderWrites(
  nodes: readonly [NodeProcess, NodeProcess],
  megabytes: number,
  smoke: boolean,
): Promise<void> {
  // One vbucket of each of 32 shards: the vbuckets of a shard are handed over together.
  const sample = Array.from({ length: 32 }, (_, index) => index * 33);
  // A vbucket that is written without a pause moves late: a copy joins only when it has every write at that moment.
  const writers = new ShardWriters(nodes, bucket, sample, smoke ? 20 : 0);
  try {
    await wait(smoke ? 300 : beforeRebalanceMs);
    const before = writers.figures();
    const beganMs = performance.now();
    await rebalance(nodes[0]);
    const tookMs = performance.now() - beganMs;
    const { handoversMs, rate } = writers.figures();
    print('rebalance', rateOf(megabytes, tookMs));
    print(
      'writes meanwhile',
      `${rate.toFixed(0)}/s, ${(rate / before.rate).toFixed(2)}× of before (limit 0.5×)`,
    );
    print(
      'handover of a shard',
      `no write for ${percentile(handoversMs, 0.5)} ms in the median of ${handoversMs.length}, ${percentile(handoversMs, 0.99)} ms at the 99th percentile (limits 50 and 250 ms)`,
    );
  } finally {
    await writers.stop();
  }
}

/** Resolves within 0.1 s once the node is active for no vbucket. Each call takes processor time from the rebalance: the answer names all vbuckets. */
async function untilServesNone(first: NodeProcess, node: NodeProcess): Promise<void> {
  const port = portNumber(node.ready.node.kv);
  while ((await activesOf(first, bucket)).includes(port)) await wait(100);
}

const rateOf = (megabytes: number, tookMs: number): string =>
  `${megabytes.toFixed(0)} MB in ${tookMs.toFixed(0)} ms, ${((megabytes * 1000) / tookMs).toFixed(0)} MB/s (limit 60 MB/s)`;

/** Two nodes whose configuration is on three NATS servers, which all stop for a while. */
async function onNats(smoke: boolean, seconds: number): Promise<void> {
  if (natsVersionOf(natsServerPath) === null) {
    print('on NATS', 'not measured: npm run nats-server builds the server');
    return;
  }
  await using nats = await NatsCluster.start({ count: 3 });
  await using first = await NodeProcess.start({ args: [...firstArgs, '--engine', nats.url] });
  await using second = await unprovisioned();
  const nodes = [first, second];
  await joinNodes(first, [second]);
  await createBucket(first, bucket, 1);
  const load = { inFlight: 32, durable: true };
  if (!smoke) await measure(nodes, { ...load, seconds });
  const before = await measure(nodes, { ...load, seconds });
  print('majority on NATS', `${rates(before)} (limits 60,000/s and a median of 1 ms)`);
  for (const server of nats.servers) server.pause();
  const stopped = await measure(nodes, { ...load, seconds: smoke ? seconds : 30 });
  for (const server of nats.servers) server.resume();
  const share = (stopped.p99Ms / before.p99Ms).toFixed(2);
  print(
    'all NATS servers stopped',
    `${rates(stopped)}, ${stopped.failures} failed, p99 ${share}× of before (limits 0 and 1.5×)`,
  );
}

async function measureThreeNodes(smoke: boolean): Promise<void> {
  const ports = await fixedPorts();
  const beganMs = performance.now();
  const started = [
    NodeProcess.start({ args: firstArgs }),
    unprovisioned(),
    NodeProcess.start({ unprovisioned: true, args: ['--services', 'kv'], ports }),
  ] as const;
  const [first, second, third] = await Promise.all(started);
  await using _first = first;
  await using _second = second;
  await using _third = third;
  await joinNodes(first, [second, third]);
  await createBucket(first, bucket, 1);
  const port = portNumber(third.ready.node.kv);
  await untilWritten([third], { bucket, vb: (await activesOf(first, bucket)).indexOf(port) });
  print('three nodes from nothing', `first document after ${timeSince(beganMs)} (limit 3000 ms)`);
  await wait(smoke ? 0 : untilIdleMs);
  print(
    'idle memory',
    `${[first, second, third].map(({ pid }) => residentMb(pid).toFixed(0)).join(', ')} MB resident (limit 175 a node)`,
  );
  await measure([first, second, third], { ...writes, seconds: smoke ? 0.1 : 5 });
  const others = [first, second];
  const documents = smoke ? 1_000 : 1_000_000;
  const allPorts = [first, second, third].map(({ ready }) => portNumber(ready.node.kv));
  const actives = (await activesOf(first, bucket)).map((active) => allPorts.indexOf(active));
  await fillBucket([first, second, third], bucket, { actives, count: documents, bytes: 32 });
  await failedOver(others, third, port);
  await using again = await NodeProcess.start({ dataDir: third.dataDir, ports });
  await post(first, '/controller/reAddNode', { otpNode: await nameOf(first, port) });
  await rebalance(first);
  await using last = await restarted(others, again, ports);
  if (!smoke) await failedOverAutomatically(others, last, port);
}

async function failedOver(others: readonly NodeProcess[], node: NodeProcess, port: number): Promise<void> {
  const [first] = others as [NodeProcess, NodeProcess];
  const vb = (await activesOf(first, bucket)).indexOf(port);
  const otpNode = await nameOf(first, port);
  await untilInSync(first);
  await node.stop();
  const beganMs = performance.now();
  const answered = post(first, '/controller/failOver', { otpNode });
  await untilWritten(others, { bucket, vb });
  print(
    'failover of a stopped node',
    `first write after ${timeSince(beganMs)} (limit 1000 ms, with 1,000,000 documents)`,
  );
  await answered;
}

async function nameOf(node: NodeProcess, port: number): Promise<string> {
  const { nodes } = (await (await node.request('/pools/default')).json()) as {
    nodes: { otpNode: string; ports: { direct: number } }[];
  };
  return nodes.find(({ ports }) => ports.direct === port)?.otpNode ?? '';
}

/** Kills the node and starts it again at once; resolves with the new process. */
async function restarted(
  others: readonly NodeProcess[],
  node: NodeProcess,
  ports: Readonly<Record<string, number>>,
): Promise<NodeProcess> {
  const [first] = others as [NodeProcess, NodeProcess];
  const vb = (await activesOf(first, bucket)).indexOf(portNumber(node.ready.node.kv));
  await untilInSync(first);
  await node.stop('SIGKILL');
  const killedMs = performance.now();
  const starting = NodeProcess.start({ dataDir: node.dataDir, ports });
  const race = new AbortController();
  const attempt = { bucket, vb, signal: race.signal };
  const written = starting.then((again) => untilWritten([again, ...others], attempt));
  await Promise.race([written, untilWritten(others, attempt)]);
  const firstWriteTook = timeSince(killedMs);
  // The other one would go on for a minute.
  race.abort();
  const again = await starting;
  print(
    'kill and restart at once',
    `first write after ${firstWriteTook}, the process was ready after ${timeSince(killedMs)} (limit 2000 ms)`,
  );
  return again;
}

/** A copy keeps the promises that it made before the timeout was lowered: the measurement begins once these have ended. */
async function failedOverAutomatically(
  others: readonly NodeProcess[],
  node: NodeProcess,
  port: number,
): Promise<void> {
  const [first] = others as [NodeProcess, NodeProcess];
  await post(first, '/settings/autoFailover', { enabled: 'true', timeout: '5', maxCount: '1' });
  await rebalance(first);
  await wait(promiseMsMax);
  const vb = (await activesOf(first, bucket)).indexOf(port);
  await untilInSync(first);
  await node.stop('SIGKILL');
  const diedMs = performance.now();
  await untilWritten(others, { bucket, vb });
  print('automatic failover after 5 s', `first write after ${timeSince(diedMs)} (limit 7000 ms)`);
}

const timeSince = (beganMs: number): string => `${(performance.now() - beganMs).toFixed(0)} ms`;
const rates = ({ rate, perCpuSecond, medianMs, p99Ms, failures }: Measured): string =>
  `${rate.toFixed(0)}/s, ${perCpuSecond.toFixed(0)} per processor second, median ${medianMs.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms` +
  (failures === 0 ? '' : `, ${failures} failed`);
const print = (what: string, figures: string): void => console.log(`${what.padEnd(28)} ${figures}`);
