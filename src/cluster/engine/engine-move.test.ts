// When the configuration of a cluster moves to servers of its nodes, and how nodes learn of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SecretBox } from '#auth/secret-box.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import type { ClusterState, NodeState } from '../config/cluster-state.ts';
import { ownVersion } from '../config/node-versions.ts';
import type {
  EngineRecord,
  MoveToServers,
  NatsJoinParameters,
  NatsSource,
  ServerTask,
} from '../joining/join-messages.ts';
import { EngineMove, type EngineMoveDeps } from './engine-move.ts';
import { engineKey, engineSecret } from './engine-record.ts';
import { ServerOffers } from './server-offers.ts';
import { ServerReplacement } from './server-replacement.ts';

const secrets = new SecretBox(Buffer.alloc(32, 1), realRandom);
const keyedCertificate = { certificate: 'certificate', key: 'key' };
const refusing = (): never => assert.fail('a founder was asked to change');
const node = (uuid: string, changes: Partial<NodeState> = {}): NodeState =>
  nodeNamed(uuid, { otpNode: `ns_1@${uuid}`, hostname: uuid, ...changes });

interface Settings {
  nodes: NodeState[];
  state?: Partial<ClusterState>;
  /** The node is a member whose founder cannot be reached for this reason. */
  problem?: string;
  isFounder?: boolean;
  /** By node: what it answers to a request. */
  answers?: Record<string, (name: string, body: unknown) => unknown>;
}

/** Node `a`, with the others as functions. Notes what it does. */
async function aNode({ nodes, state, problem, isFounder = true, answers = {} }: Settings) {
  const clock = new SimulatedClock();
  const store = new MemoryConfigStore();
  const cluster = aCluster({ nodes, ...state });
  const run = new Map<string, ServerTask>();
  const moves: MoveToServers[] = [];
  const used: NatsJoinParameters[] = [];
  const asked: string[] = [];
  const own = new Map<string, (body: never, from: string) => unknown>();
  let source: NatsSource | null = null;
  const mirror = { problem: problem ?? null, head: null, state: { revision: 0, records: [] } };
  const parts: Omit<EngineMoveDeps, 'offers' | 'replacement'> = {
    ...{ store, clock, secrets, random: realRandom, log: silentLog },
    view: { cluster, activeNodes: nodes.filter(({ membership }) => membership === 'active') },
    identity: { nodeId: 'a', bootId: 'boot' },
    certificates: { ownCredentials: () => ({ ca: '', cert: '', key: '' }) },
    issue: async () => ({ authority: keyedCertificate, node: keyedCertificate, rsa: null }),
    stopServing: async () => {},
    membership: {
      isFounder,
      clusterKey: () => new Uint8Array(32),
      natsSource: () => source,
      founderTransfer: {
        mirror: isFounder ? null : { ...mirror, fence: refusing, release: refusing },
        ...{ takeOver: refusing, follow: refusing, pause: refusing, resume: refusing },
        ...{ handOver: refusing, stepDown: refusing },
      },
      engineTransfer: {
        offer: async () => ({ port: 1, routePort: 2 }),
        runServer: async (task) => void run.set('a', task),
        async moveToServers(request) {
          moves.push(request);
          source = request.parameters.nats;
        },
        useServers: async (parameters) => void used.push(parameters),
        ...{ serverName: () => null, removeServer: refusing, sourceChanged: refusing, groupOf: refusing },
      },
    },
    peers: {
      answer: (name, answer) => void own.set(name, answer as never),
      async ask<Value>(to: string, name: string, body: unknown) {
        asked.push(`${name} ${to}`);
        if (name === 'engine/run') run.set(to, body as ServerTask);
        return (await answers[to]?.(name, body)) as Value;
      },
    },
  };
  const offers = new ServerOffers(parts);
  const move = new EngineMove({ ...parts, offers, replacement: new ServerReplacement({ ...parts, offers }) });
  move.start();
  return { move, clock, store, run, moves, used, asked, own };
}

const offers = (name: string): unknown => (name === 'engine/offer' ? { port: 3, routePort: 4 } : null);

test('the founder moves the configuration once three active nodes can run a server', async () => {
  const nodes = [node('b'), node('c'), node('a'), node('d')];
  const answers = { b: () => null, c: offers, d: offers };
  const { clock, run, moves, asked, move } = await aNode({ nodes, answers });
  await clock.run(3_000);
  assert.deepEqual([...run.keys()], ['a', 'c', 'd']);
  assert.deepEqual(run.get('c')?.routes, run.get('a')?.routes);
  const [request] = moves;
  assert.deepEqual(request?.record.nodes, ['a', 'c', 'd']);
  const source = JSON.parse(secrets.open(engineSecret, request?.record.source ?? '')) as NatsSource;
  assert.match(source.servers, /^tls:\/\/divan:[\w-]+@a:1,c:3,d:3$/);
  assert.deepEqual(request?.parameters.nats, source);
  assert.ok(asked.includes('engine/moved b'), 'a node without a server uses them too');
  await clock.run(120_000);
  assert.equal(moves.length, 1);
  await move.stop();
});

test('nothing moves with fewer servers or an older node, while a node joins or a rebalance runs, or on a member', async () => {
  const three = [node('a'), node('b'), node('c')];
  const plan = { id: 'p', kind: 'rebalance' as const, term: 0, nodes: [], ejected: [], startedMs: 0 };
  const answers = { b: offers, c: offers };
  const quiet: Settings[] = [
    { nodes: three.slice(0, 2), answers },
    { nodes: [...three, node('d', { joining: true, membership: 'inactiveAdded' })], answers },
    { nodes: three, state: { balance: plan }, answers },
    { nodes: three, answers: { b: offers, c: () => null } },
    { nodes: three, answers: { b: offers, c: () => Promise.reject(new Error('it is down')) } },
    { nodes: three, answers, isFounder: false },
    { nodes: [node('a'), node('b'), node('c', { version: ownVersion - 1 })], answers },
  ];
  for (const settings of quiet) {
    const { clock, moves, run, move } = await aNode(settings);
    await clock.run(40_000);
    assert.deepEqual([moves.length, run.size], [0, 0]);
    await move.stop();
  }
});

test('a member that cannot reach the founder asks the others where the configuration is', async () => {
  const source: NatsSource = { servers: 'tls://x', bucket: 'divan', files: {} };
  const record: EngineRecord = { nodes: ['b'], source: secrets.seal(engineSecret, JSON.stringify(source)) };
  const nodes = [node('a'), node('b'), node('c')];
  const answers = {
    b: () => Promise.reject(new Error('it is down')),
    c: (name: string) => (name === 'engine/record' ? record : null),
  };
  const member = await aNode({ nodes, answers, isFounder: false, problem: 'no connection' });
  await member.clock.run(3_000);
  assert.deepEqual(member.used[0]?.nats, source);
  await member.move.stop();
  const reached = await aNode({ nodes, answers, isFounder: false });
  await reached.clock.run(10_000);
  assert.deepEqual(reached.asked, []);
  // The founder tells it.
  reached.own.get('engine/moved')?.(record as never, 'b');
  await reached.clock.run(1);
  assert.deepEqual(reached.used[0]?.nats, source);
  await reached.move.stop();
});

test('a node whose server the others need cannot leave, unless it was failed over', async () => {
  const { move, store } = await aNode({ nodes: [node('a')] });
  await move.before([node('b')]);
  await store.put(engineKey, { nodes: ['a', 'b', 'c'], source: '' } satisfies EngineRecord, 0);
  await assert.rejects(move.before([node('d'), node('b')]), /ns_1@b runs one of the three NATS servers/);
  await move.before([node('d'), node('b', { membership: 'inactiveFailed' })]);
  await move.stop();
});

test('servers on one machine get ports of their own', async () => {
  const nodes = ['a', 'b', 'c'].map((uuid) => node(uuid, { hostname: null }));
  const taken: unknown[] = [];
  const other = (port: number) => (name: string, body: unknown) => {
    if (name !== 'engine/offer') return null;
    taken.push((body as { taken: number[] }).taken);
    return { port, routePort: port + 1 };
  };
  const { clock, moves, move } = await aNode({ nodes, answers: { b: other(3), c: other(5) } });
  await clock.run(3_000);
  assert.equal(moves.length, 1);
  assert.deepEqual(taken, [
    [1, 2],
    [1, 2, 3, 4],
  ]);
  await move.stop();
});
