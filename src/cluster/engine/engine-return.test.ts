// When the configuration of a cluster goes back from servers of its nodes to a founder, and how nodes that were away follow.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster } from '../../../test/support/cluster.ts';
import { aNode, node, recordOf, someServers } from '../../../test/support/engine-node.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import type { NodeState } from '../config/cluster-state.ts';
import { laterPlaceRequest } from '../peers/inter-node.ts';
import { engineKey } from './engine-record.ts';
import { EngineReturn, type EngineReturnDeps } from './engine-return.ts';

const three = [node('a'), node('b'), node('c')];
const servers = ['a', 'b', 'c'];
const wants = (isWanted: boolean) => (name: string) => (name === 'engine/wants' ? isWanted : null);
/** Answers as a node that would run a NATS server. */
const willingNode = (name: string): unknown =>
  name === 'engine/wants' ? true : name === 'engine/offer' ? { port: 3, routePort: 4 } : null;

test('before a rebalance to two nodes the configuration goes to one that stays', async () => {
  for (const leaving of [node('c'), node('c', { membership: 'inactiveFailed' })]) {
    const fixture = await aNode({ nodes: three, servers, answers: { b: willingNode, c: willingNode } });
    await fixture.move.prepareDeparture([leaving]);
    assert.deepEqual(fixture.events, ['returned to a']);
    assert.ok(fixture.asked.includes('engine/moved b'));
    // Three nodes are there until the rebalance begins.
    await fixture.clock.run(20_000);
    assert.deepEqual(fixture.moves, []);
    await fixture.move.stop();
  }
});

test('another node becomes the founder where this one leaves, and the next where it cannot', async () => {
  const answers = {
    b: (name: string) => (name === 'engine/return' ? Promise.reject(new Error('its disk is full')) : null),
    c: () => null,
  };
  const nodes = [...three, node('d')];
  const fixture = await aNode({ nodes, servers, answers });
  await fixture.move.prepareDeparture([node('a'), node('d')]);
  assert.deepEqual(fixture.events, []);
  assert.deepEqual(
    fixture.asked.filter((request) => request.startsWith('engine/return')),
    ['engine/return b', 'engine/return c'],
  );
  await fixture.move.stop();
});

test('a node that runs a server cannot leave if the configuration cannot move, but a lost one can', async () => {
  const returning = () => Promise.reject(new Error('other nodes change the configuration all the time.'));
  const answers = { b: () => Promise.reject(new Error('it is down')) };
  const fixture = await aNode({ nodes: three, servers, answers, returning });
  await assert.rejects(
    fixture.move.prepareDeparture([node('c')]),
    /ns_1@c runs one of the three .* cannot move .*: it is down\.$/,
  );
  await fixture.move.prepareDeparture([node('c', { membership: 'inactiveFailed' })]);
  assert.deepEqual(fixture.events, []);
  await fixture.move.stop();
});

test('of four nodes, one with a server cannot leave while the fourth may still run one instead; else the configuration moves', async () => {
  const nodes = [...three, node('d')];
  const cases: [(name: string) => unknown, RegExp | null, string[]][] = [
    // Node `d` does not answer now, but may later.
    [() => Promise.reject(new Error('it is down')), /ns_1@c runs one of the three/, []],
    [(name) => (name === 'engine/wants' ? true : null), /ns_1@c runs one of the three/, []],
    [wants(false), null, ['returned to a']],
  ];
  for (const [d, refusal, events] of cases) {
    const fixture = await aNode({ nodes, servers, answers: { b: willingNode, c: willingNode, d } });
    const done = fixture.move.prepareDeparture([node('c')]);
    if (refusal === null) await done;
    else await assert.rejects(done, refusal);
    assert.deepEqual(fixture.events, events);
    // A node without a server leaves as usual.
    await fixture.move.prepareDeparture([node('d')]);
    await fixture.move.stop();
  }
});

test('a node with a server cannot leave while no other node starts one, and the refusal has the reason', async () => {
  const nodes = [...three, node('d'), node('e')];
  const store = new MemoryConfigStore();
  await store.put(engineKey, recordOf(servers), 0);
  const ask = () =>
    Promise.reject(new Error('it does not answer, and may have been started to run a server'));
  const deps: Omit<EngineReturnDeps, 'replacement'> = {
    store,
    clock: new SimulatedClock(),
    log: silentLog,
    identity: { nodeId: 'a', bootId: 'boot' },
    view: { cluster: aCluster({ nodes }), activeNodes: nodes, self: node('a') },
    membership: {
      engineTransfer: null,
      founderTransfer: null,
      isFounder: false,
      natsSource: () => someServers,
    },
    places: { announce: async () => {} },
    peers: { answer: () => {}, ask },
  };
  const cases: [EngineReturnDeps['replacement']['replace'], object][] = [
    [
      () => Promise.reject(new Error('its program does not start.')),
      { status: 503, message: /ns_1@c runs one .* cannot move .*: its program does not start\.$/ },
    ],
    [
      async () => ({ isDone: false, obstacle: 'the servers have just changed' }),
      { status: 503, message: /ns_1@c runs one .* cannot move .*: the servers have just changed\.$/ },
    ],
    [async () => ({ isDone: false }), { status: 400, message: /ns_1@c runs one .* no node that stays can/ }],
  ];
  for (const [replace, refusal] of cases) {
    const returning = new EngineReturn({ ...deps, replacement: { replace } });
    await assert.rejects(returning.prepareDeparture([node('c')]), refusal);
  }
});

test('once no node is configured to run a server, the first that runs one becomes the founder, and removes its server', async () => {
  const none = { b: wants(false), c: wants(false) };
  const settings = { nodes: three, servers, wantsServers: false, runsServer: true };
  const fixture = await aNode({ ...settings, answers: none });
  await fixture.clock.run(3_000);
  assert.deepEqual(fixture.events, ['returned to a']);
  await fixture.clock.run(12_000);
  assert.deepEqual(fixture.events, ['returned to a', 'removed its server']);
  await fixture.move.stop();
  const plan = { id: 'p', kind: 'rebalance' as const, term: 0, nodes: [], ejected: [], startedMs: 0 };
  const quiet: Parameters<typeof aNode>[0][] = [
    { ...settings, wantsServers: true, answers: none },
    { ...settings, answers: { b: wants(false), c: wants(true) } },
    { ...settings, answers: { b: wants(false), c: () => Promise.reject(new Error('it is down')) } },
    { ...settings, servers: ['b', 'a', 'c'], answers: none },
    { ...settings, answers: none, problem: 'no connection' },
    { ...settings, answers: none, state: { balance: plan } },
    { ...settings, answers: none, nodes: [...three, node('d', { joining: true })] },
  ];
  for (const [at, scene] of quiet.entries()) {
    const stays = await aNode(scene);
    await stays.clock.run(40_000);
    assert.deepEqual(stays.events, [], `case ${at}`);
    await stays.move.stop();
  }
});

test('where two nodes with servers are left, as after a rebalance that removed a lost one, a founder takes the configuration', async () => {
  const nodes: NodeState[] = [node('a'), node('b')];
  const fixture = await aNode({ nodes, servers, answers: { b: willingNode } });
  await fixture.clock.run(3_000);
  assert.deepEqual(fixture.events, ['returned to a']);
  await fixture.move.stop();
});

test('a node whose servers no longer run asks where the configuration is, and follows a later founder only', async () => {
  const founder = { nodeId: 'b', host: 'b', port: 1 };
  const placeOf = (place: object) => (name: string) => (name === laterPlaceRequest ? place : null);
  const away = { nodes: three, servers, state: { revEpoch: 2 } };
  const c = placeOf({ epoch: 3, founder });
  const b = () => Promise.reject(new Error('it is down'));
  const fixture = await aNode({ ...away, problem: 'no connection', answers: { b, c } });
  await fixture.clock.run(3_000);
  assert.deepEqual(fixture.followed, [founder]);
  await fixture.move.stop();
  const ignored = [{ epoch: 2, founder }, { epoch: 3, founder: { ...founder, nodeId: 'a' } }, null];
  for (const place of ignored) {
    const stays = await aNode({
      ...away,
      problem: 'no connection',
      answers: { b: placeOf(place as object) },
    });
    await stays.clock.run(3_000);
    assert.deepEqual([stays.followed, stays.used], [[], []]);
    await stays.move.stop();
  }
  // The cluster may have moved to other servers since.
  const record = recordOf(['b', 'c', 'd'], { ...someServers, servers: 'tls://y' });
  const moved = await aNode({
    ...away,
    problem: 'no connection',
    answers: { b: placeOf({ epoch: 4, record }) },
  });
  await moved.clock.run(3_000);
  assert.equal(moved.used[0]?.nats.servers, 'tls://y');
  await moved.move.stop();
  // A node that reaches the servers finds their last change there.
  const reached = await aNode({ ...away, answers: {} });
  reached.own.get('engine/moved')?.({ epoch: 3, founder } as never, 'b');
  await reached.clock.run(3_000);
  assert.deepEqual(reached.followed, []);
  await reached.move.stop();
});

test('a node that knows only an earlier epoch learns where the configuration is now, and a removed one that it was removed', async () => {
  const takesAnyPlace = true;
  const earlier = { epoch: 4, founder: 'd', takesAnyPlace };
  const state = { revEpoch: 5, left: ['d'] };
  const answer = async (scene: Parameters<typeof aNode>[0], request: object = earlier, from = 'b') => {
    const fixture = await aNode(scene);
    const place = await fixture.own.get(laterPlaceRequest)?.(request as never, from);
    await fixture.move.stop();
    return place;
  };
  const onServers = { nodes: three, servers, state };
  assert.deepEqual(Object.keys((await answer(onServers)) as object), ['epoch', 'record']);
  assert.deepEqual(await answer(onServers, earlier, 'd'), { epoch: 5, isRemoved: true });
  const { epoch: _, ...first } = earlier;
  assert.deepEqual(await answer(onServers, first, 'd'), { epoch: 5, isRemoved: true });
  // Requests with the same epoch, from an unknown node, and from a founder of 0.2, which knows no such answer.
  assert.equal(await answer(onServers, { ...earlier, epoch: 5 }, 'd'), null);
  assert.equal(await answer(onServers, earlier, 'e'), null);
  assert.equal(await answer(onServers, { epoch: 4, founder: 'd' }, 'd'), null);
  const founderNotice = { epoch: 5, founder: { nodeId: 'b', host: 'b', port: 1 } };
  const atFounder = { nodes: three, state: { ...state, founder: 'b' }, isFounder: false, founderNotice };
  assert.deepEqual(await answer(atFounder, earlier, 'd'), founderNotice);
  assert.equal(await answer({ nodes: [node('a')] }), null);
});

test('a server that was started for a move is removed if the move does not follow, and not before', async () => {
  const fixture = await aNode({ nodes: [node('a'), node('b')], runsServer: true });
  await fixture.clock.run(100_000);
  await fixture.own.get('engine/run')?.({} as never, 'b');
  await fixture.clock.run(100_000);
  assert.equal(fixture.events.length, 0);
  await fixture.clock.run(100_000);
  assert.deepEqual(fixture.events, ['removed its server']);
  await fixture.move.stop();
});
