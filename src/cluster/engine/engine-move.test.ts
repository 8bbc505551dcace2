// When the configuration of a cluster moves to servers of its nodes, and how nodes learn of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aNode, node, recordOf, secrets, someServers } from '../../../test/support/engine-node.ts';
import { ownVersion } from '../config/node-versions.ts';
import type { NatsSource } from '../joining/join-messages.ts';
import { laterPlaceRequest } from '../peers/inter-node.ts';
import { engineSecret } from './engine-record.ts';

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
  assert.ok(asked.includes('engine/moved b'), 'a node without a server uses the servers too');
  await clock.run(120_000);
  assert.equal(moves.length, 1);
  await move.stop();
});

test('nothing moves with fewer servers or an older node, while a node joins or a rebalance runs, or on a member', async () => {
  const three = [node('a'), node('b'), node('c')];
  const plan = { id: 'p', kind: 'rebalance' as const, term: 0, nodes: [], ejected: [], startedMs: 0 };
  const answers = { b: offers, c: offers };
  const unready: Parameters<typeof aNode>[0][] = [
    { nodes: three.slice(0, 2), answers },
    { nodes: [...three, node('d', { joining: true, membership: 'inactiveAdded' })], answers },
    { nodes: three, state: { balance: plan }, answers },
    { nodes: three, answers: { b: offers, c: () => null } },
    { nodes: three, answers: { b: offers, c: () => Promise.reject(new Error('it is down')) } },
    { nodes: three, answers, isFounder: false },
    { nodes: [node('a'), node('b'), node('c', { version: ownVersion - 1 })], answers },
  ];
  for (const settings of unready) {
    const { clock, moves, run, move } = await aNode(settings);
    await clock.run(40_000);
    assert.deepEqual([moves.length, run.size], [0, 0]);
    await move.stop();
  }
});

test('a member that cannot reach the founder asks the others where the configuration is', async () => {
  const record = recordOf(['b']);
  const nodes = [node('a'), node('b'), node('c')];
  const placeOf = (epoch: number) => (name: string) =>
    name === laterPlaceRequest ? { epoch, record } : null;
  const answers = {
    b: () => Promise.reject(new Error('it is down')),
    c: placeOf(2),
  };
  const member = await aNode({ nodes, answers, isFounder: false, problem: 'no connection' });
  await member.clock.run(3_000);
  assert.deepEqual(member.used[0]?.nats, someServers);
  await member.move.stop();
  // These are servers of an earlier epoch, which the cluster has left since.
  const later = { nodes, state: { revEpoch: 2 }, isFounder: false, problem: 'no connection' };
  const outdated = await aNode({ ...later, answers: { b: placeOf(2), c: placeOf(1) } });
  await outdated.clock.run(3_000);
  assert.deepEqual(outdated.used, []);
  await outdated.move.stop();
  const reached = await aNode({ nodes, answers, isFounder: false });
  await reached.clock.run(10_000);
  assert.deepEqual(reached.asked, []);
  // The founder sends the place to the node.
  reached.own.get('engine/moved')?.({ epoch: 2, record } as never, 'b');
  await reached.clock.run(1);
  assert.deepEqual(reached.used[0]?.nats, someServers);
  await reached.move.stop();
});

test('a founder that was lost asks once whether the configuration has moved to servers since', async () => {
  const nodes = [node('a'), node('b')];
  const answers = { b: () => ({ epoch: 3, record: recordOf(['b']) }) };
  const founder = await aNode({ nodes, answers, state: { founder: 'a' } });
  await founder.clock.run(20_000);
  assert.equal(founder.used.length, 1);
  assert.deepEqual(founder.asked, [`${laterPlaceRequest} b`]);
  await founder.move.stop();
});

test('a founder that was lost asks until a majority of the nodes has answered, or it follows an answer', async () => {
  const nodes = ['a', 'b', 'c', 'd'].map((uuid) => node(uuid));
  // After a power failure of all nodes: `b` knows no more than this node, and the others start later.
  let isUp = false;
  const later = () =>
    isUp ? { epoch: 3, record: recordOf(['c']) } : Promise.reject(new Error('it is down'));
  const answers = {
    b: () => null,
    c: later,
    d: later,
  };
  const founder = await aNode({ nodes, answers, state: { founder: 'a' } });
  const requestsTo = (to: string) =>
    founder.asked.filter((request) => request === `${laterPlaceRequest} ${to}`).length;
  await founder.clock.run(20_000);
  assert.deepEqual([founder.used.length, requestsTo('b'), requestsTo('c') > 2], [0, 1, true]);
  isUp = true;
  await founder.clock.run(5_000);
  assert.equal(founder.used.length, 1);
  const before = ['b', 'c', 'd'].map(requestsTo);
  await founder.clock.run(20_000);
  assert.deepEqual(['b', 'c', 'd'].map(requestsTo), before);
  await founder.move.stop();
});

test('a founder that was lost leaves a cluster that has removed it since, and steps down for a later founder', async () => {
  const nodes = [node('a'), node('b'), node('c')];
  const lost = (answer: object) =>
    aNode({ nodes, answers: { b: () => answer, c: () => null }, state: { founder: 'a', revEpoch: 2 } });
  const removed = await lost({ epoch: 3, isRemoved: true });
  await removed.clock.run(20_000);
  assert.deepEqual(removed.events, ['removed']);
  assert.deepEqual(removed.requests[0], { epoch: 2, founder: 'a', takesAnyPlace: true });
  await removed.move.stop();
  // The node became a member again since, or the answer is from a node whose attempt to become the founder failed.
  const stays = await lost({ epoch: 2, isRemoved: true });
  await stays.clock.run(20_000);
  assert.deepEqual(stays.events, []);
  await stays.move.stop();
  const replaced = await lost({ epoch: 3, founder: { nodeId: 'b', host: 'b', port: 1 } });
  await replaced.clock.run(20_000);
  assert.deepEqual(replaced.events, ['noticed b']);
  await replaced.move.stop();
});

test('a founder that was lost follows the newest answer, and tries again if it cannot decrypt the answer', async () => {
  const nodes = [node('a'), node('b'), node('c')];
  const placeOf = (place: object) => (name: string) => (name === laterPlaceRequest ? place : null);
  const lost = (b: object, c: object) =>
    aNode({ nodes, answers: { b: placeOf(b), c: placeOf(c) }, state: { founder: 'a', revEpoch: 2 } });
  // Node `b` was down while `a` became a member again.
  for (const epoch of [3, 4]) {
    const stays = await lost({ epoch: 3, isRemoved: true }, { epoch, record: recordOf(['c']) });
    await stays.clock.run(3_000);
    assert.deepEqual([stays.events, stays.used.length], [[], 1]);
    await stays.move.stop();
  }
  const removed = await lost({ epoch: 3, record: recordOf(['b']) }, { epoch: 4, isRemoved: true });
  await removed.clock.run(3_000);
  assert.deepEqual([removed.events, removed.used], [['removed'], []]);
  await removed.move.stop();
  const record = { ...recordOf(['b']), source: 'of another key' };
  const place = { epoch: 3, record };
  const locked = await lost(place, place);
  await locked.clock.run(3_000);
  assert.deepEqual(locked.used, []);
  Object.assign(record, recordOf(['b']));
  await locked.clock.run(10_000);
  assert.equal(locked.used.length, 1);
  await locked.move.stop();
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
