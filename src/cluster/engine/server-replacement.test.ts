// Which node runs a server of the configuration in place of one that is lost or leaves, and which servers leave the group.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SecretBox } from '#auth/secret-box.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import type { GroupMember } from '#replog/own-servers/server-group.adapter.ts';
import { nodeNamed } from '../../../test/support/cluster.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { EngineRecord, EngineTransfer, NatsSource, ServerTask } from '../joining/join-messages.ts';
import { engineKey, engineRecordOf, serversIn } from './engine-record.ts';
import { ServerOffers } from './server-offers.ts';
import { type ServerCluster, serverSourceOf, systemSourceOf } from './server-plan.ts';
import { ServerReplacement } from './server-replacement.ts';

const secrets = new SecretBox(Buffer.alloc(32, 1), realRandom);
const keyedCertificate = { certificate: 'certificate', key: 'key' };
const unexpected = (): never => assert.fail('a call that the test does not expect');
const node = (uuid: string): NodeState =>
  nodeNamed(uuid, { otpNode: `ns_1@${uuid}`, hostname: `${uuid}.test` });
const servers: ServerCluster = {
  cluster: 'c',
  password: 'p',
  systemPassword: 's',
  authority: keyedCertificate,
  places: ['a', 'b', 'c'].map((nodeId) => ({ nodeId, host: `${nodeId}.test`, port: 1, routePort: 2 })),
};
const member = (name: string, isCurrent = true): GroupMember => ({ id: `id ${name}`, name, isCurrent });

interface Scene {
  self: string;
  active: string[];
  members?: GroupMember[];
  /** Ids of nodes that can run a server. */
  able?: string[];
  /** Ids of nodes that cannot start a server though they offer to. */
  failing?: string[];
  /** Whether the node runs a server. */
  runs?: boolean;
}

/** A node that replaces lost servers. `events` and `tasks` record what it does. */
async function aNode({ self, active, members = [], able = ['d', 'e'], failing = [], runs = true }: Scene) {
  const clock = new SimulatedClock();
  const store = new MemoryConfigStore();
  await store.put(engineKey, { ...engineRecordOf(servers, secrets), later: 'a field of a newer version' }, 0);
  const events: string[] = [];
  const tasks = new Map<string, ServerTask>();
  const own = new Map<string, (body: never) => unknown>();
  let source: NatsSource = serverSourceOf(servers);
  const offer = (id: string) => (able.includes(id) ? { port: 3, routePort: 4 } : null);
  const engineTransfer: EngineTransfer = {
    moveToServers: unexpected,
    useServers: unexpected,
    wantsServers: true,
    returnToFounder: unexpected,
    followFounder: unexpected,
    removed: unexpected,
    offer: async () => offer(self),
    runServer: async (task) => void tasks.set(self, task),
    serverName: () => (runs ? `of ${self}` : null),
    removeServer: async () => void events.push('removed its server'),
    sourceChanged: (changed) => {
      source = changed;
    },
    groupOf: ({ servers: address }) => ({
      async members() {
        assert.match(address, /divan-system:s@/);
        return members;
      },
      remove: async (id) => void events.push(`removed ${id}`),
    }),
  };
  const silent = new Set<string>();
  const membership = { engineTransfer, natsSource: () => source };
  const peers = {
    answer: (name: string, answer: unknown) => void own.set(name, answer as never),
    async ask<Value>(to: string, name: string, body: unknown) {
      if (silent.has(to)) throw new Error(`${to} does not answer`);
      if (name === 'engine/replace' && failing.includes(to)) throw new Error('the program does not start');
      if (name === 'engine/replace') tasks.set(to, body as ServerTask);
      return (name === 'engine/offer' ? offer(to) : name === 'engine/server' ? `of ${to}` : null) as Value;
    },
  };
  const parts = {
    clock,
    store,
    membership,
    peers,
    secrets,
    random: realRandom,
    log: silentLog,
    identity: { nodeId: self, bootId: 'boot' },
    view: { activeNodes: active.map(node) },
    issue: async () => ({ authority: keyedCertificate, node: keyedCertificate, rsa: null }),
  };
  const replacement = new ServerReplacement({ ...parts, offers: new ServerOffers(parts) });
  replacement.start();
  const record = async (): Promise<EngineRecord> =>
    (await store.get<EngineRecord>(engineKey))?.value ?? unexpected();
  return { clock, events, tasks, own, record, replacement, silent, source: () => source };
}

test('the first node with a server chooses a node that runs one in place of a lost server, and all nodes get its address', async () => {
  const fixture = await aNode({ self: 'b', active: ['b', 'c', 'f', 'e'] });
  await fixture.clock.run(6_000);
  const record = await fixture.record();
  assert.deepEqual(record.nodes, ['e', 'b', 'c']);
  assert.equal((record as { later?: string }).later, 'a field of a newer version');
  assert.deepEqual([...fixture.tasks.keys()], ['e']);
  const task = fixture.tasks.get('e');
  assert.deepEqual(
    task?.routes.map(({ host, port }) => `${host} ${port}`),
    ['e.test 4', 'b.test 2', 'c.test 2'],
  );
  assert.deepEqual([task?.password, task?.systemPassword, task?.cluster], ['p', 's', 'c']);
  const next = serversIn(record, secrets) ?? unexpected();
  assert.match(systemSourceOf(next).servers, /@e\.test:3,b\.test:1,c\.test:1$/);
  await fixture.clock.run(6_000);
  assert.deepEqual(fixture.source(), serverSourceOf(next));
  await fixture.replacement.stop();
});

test('a node replaces no server if it is not the first one, if no node can run one, or if the record is of an earlier version', async () => {
  const quiet: Scene[] = [
    { self: 'c', active: ['b', 'c', 'd'] },
    { self: 'd', active: ['b', 'c', 'd'], runs: false },
    { self: 'b', active: ['b', 'c', 'f'] },
    { self: 'b', active: ['b', 'c'] },
  ];
  for (const scene of quiet) {
    const fixture = await aNode(scene);
    await fixture.clock.run(60_000);
    assert.deepEqual((await fixture.record()).nodes, ['a', 'b', 'c']);
    assert.deepEqual([fixture.tasks.size, fixture.events], [0, []]);
    await fixture.replacement.stop();
  }
  assert.equal(serversIn({ nodes: ['a'], source: '' }, secrets), null);
});

test('a server that no node runs leaves the group once all others belong to it', async () => {
  const all = ['a', 'b', 'c'].map((id) => member(`of ${id}`));
  const [first, second] = all as [GroupMember, GroupMember];
  const active = ['a', 'b', 'c', 'd'];
  const cases: [GroupMember[], string[]][] = [
    [all, []],
    [
      [...all, member('lost', false), member('returned')],
      ['removed id lost', 'removed id returned'],
    ],
    [[first, second, member('of c', false), member('lost', false)], []],
    [[first, second, member('lost', false)], []],
  ];
  for (const [members, expected] of cases) {
    const fixture = await aNode({ self: 'a', active, members });
    await fixture.clock.run(6_000);
    assert.deepEqual(fixture.events, expected);
    await fixture.replacement.stop();
  }
  const other = await aNode({ self: 'b', active, members: [...all, member('lost', false)] });
  await other.clock.run(6_000);
  assert.deepEqual(other.events, []);
  await other.replacement.stop();
});

test('a node that returns removes its server when another one has its place, and keeps one that it was asked to run', async () => {
  const returned = await aNode({ self: 'x', active: ['a', 'b', 'c', 'x'] });
  await returned.clock.run(200_000);
  assert.ok(returned.events.includes('removed its server'));
  await returned.replacement.stop();
  const requested = await aNode({ self: 'd', active: ['a', 'b', 'c', 'd'] });
  await requested.clock.run(1_000);
  await requested.own.get('engine/replace')?.({} as never);
  await requested.clock.run(100_000);
  assert.deepEqual([requested.tasks.size, requested.events], [1, []]);
  await requested.clock.run(100_000);
  assert.ok(requested.events.includes('removed its server'), 'the record never named it');
  await requested.replacement.stop();
  const has = await aNode({ self: 'a', active: ['a', 'b', 'c'] });
  await assert.rejects(async () => has.own.get('engine/replace')?.({} as never), {
    message: 'this node has a server already',
  });
  await has.replacement.stop();
});

test('a server goes to a node that stays when its node leaves', async () => {
  const fixture = await aNode({ self: 'b', active: ['a', 'b', 'c', 'd', 'e'] });
  assert.deepEqual(await fixture.replacement.replace('a', [node('a'), node('d')]), { isDone: true });
  assert.deepEqual((await fixture.record()).nodes, ['e', 'b', 'c']);
  assert.deepEqual(
    await fixture.replacement.replace('c', [node('c'), node('d')]),
    { isDone: false },
    'no other node is left',
  );
  const changed = { isDone: false, obstacle: 'the servers have just changed' };
  assert.deepEqual(await fixture.replacement.replace('x'), changed);
  fixture.silent.add('d');
  const silent = { isDone: false, obstacle: 'd does not answer' };
  assert.deepEqual(await fixture.replacement.replace('c', [node('c')]), silent);
  await fixture.replacement.stop();
});

test('a server goes to the next node where the first one cannot start it', async () => {
  const fixture = await aNode({ self: 'b', active: ['b', 'c', 'd', 'e'], failing: ['d'] });
  await fixture.clock.run(6_000);
  assert.deepEqual((await fixture.record()).nodes, ['e', 'b', 'c']);
  await fixture.replacement.stop();
  const none = await aNode({ self: 'b', active: ['b', 'c', 'd', 'e'], failing: ['d', 'e'] });
  await assert.rejects(none.replacement.replace('a'), /the program does not start/);
  assert.deepEqual((await none.record()).nodes, ['a', 'b', 'c']);
  await none.replacement.stop();
});
