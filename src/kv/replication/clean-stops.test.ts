// Which process continues a shard after the members of its in-sync set stopped, cleanly or not, and whether a restart costs a copy its place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { aSeed } from '../../../test/support/random.ts';
import { type ReplicatedNode as Node, ReplicatedNode } from '../../../test/support/replicated-cluster.ts';
import { majority, persisted, Restarts } from '../../../test/support/restarts.ts';

test('an active that stopped cleanly serves again at once, with all that it had, and keeps the set', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b', 'c']);
  const { clock } = all.cluster;
  await all.begin();
  all.node('a').store('plain', 0, { value: 'plain' });
  await all.write('a', 'durable', majority);
  await all.stop('a');
  await all.start('a');
  await clock.run(1_000);
  assert.equal(all.serves('a'), true);
  assert.deepEqual([all.has('a', 'plain'), all.has('a', 'durable')], [true, true]);
  assert.deepEqual((await all.members()).sort(), ['a', 'b', 'c']);
  all.end();
});

test('the active does not wait for the other members if all of them stopped cleanly', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b', 'c']);
  const { clock } = all.cluster;
  await all.begin();
  await all.write('a', 'durable', majority);
  for (const name of ['c', 'a', 'b']) await all.stop(name);
  await clock.run(60_000);
  await all.start('a');
  await clock.run(3_000);
  assert.equal(all.serves('a'), true);
  assert.equal(all.has('a', 'durable'), true);
  await all.start('b');
  await clock.run(3_000);
  await all.write('a', 'later', majority);
  all.end();
});

test('a member that stopped cleanly is promoted in place of an active that was killed', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b']);
  const { clock, map } = all.cluster;
  await all.begin();
  await all.write('a', 'durable', majority);
  all.node('a').holdMapChanges();
  await all.stop('b');
  all.kill('a');
  await all.start('a');
  await clock.run(12_000);
  assert.equal(all.serves('a'), false, 'node b may have more');
  await all.start('b');
  await clock.run(12_000);
  assert.equal((await map.shards())[0]?.chain[0], 1);
  assert.equal(all.serves('b'), true);
  assert.equal(all.has('b', 'durable'), true);
  all.end();
});

test('a clean stop does not count any more once the next process of that node was killed', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b']);
  const { clock } = all.cluster;
  await all.begin();
  all.node('a').holdMapChanges();
  await all.stop('b');
  all.kill('a');
  await all.start('b');
  all.kill('b');
  await all.start('b');
  await all.start('a');
  await clock.run(20_000);
  assert.equal(all.serves('a'), true, 'the last active does not serve');
  all.end();
});

test('an active that waits for a lost member serves once that one is failed over with allowUnsafe', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b']);
  const { clock, map } = all.cluster;
  await all.begin();
  await all.write('a', 'durable', persisted);
  for (const name of ['a', 'b']) all.node(name).holdMapChanges();
  for (const name of ['a', 'b']) all.kill(name);
  await all.start('a');
  await clock.run(15_000);
  assert.equal(all.serves('a'), false, 'node b may have more');
  await map.failOver('b', ['a']);
  await clock.run(1_000);
  assert.equal(all.serves('a'), true);
  assert.equal(all.has('a', 'durable'), true);
  all.end();
});

test('an active that was killed continues if the bucket cannot start on another member that was killed too', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b', 'c']);
  const { clock } = all.cluster;
  await all.begin();
  await all.write('a', 'durable', persisted);
  for (const name of ['a', 'b', 'c']) all.node(name).holdMapChanges();
  for (const name of ['a', 'b', 'c']) all.kill(name);
  const [b, c] = ['b', 'c'].map((name) => new ReplicatedNode(all.cluster, name, `${name} after`)) as [
    Node,
    Node,
  ];
  // The bucket of these tests is named `b`, too. Node a asks node b after the bucket has failed to start there, and node c before that.
  b.replication.failed('b', []);
  await all.start('a');
  await clock.run(20_000);
  assert.equal(all.serves('a'), false, 'the bucket of node c may still be opened');
  c.replication.failed('b', []);
  await clock.run(2_000);
  assert.equal(all.serves('a'), true);
  for (const node of [b, c]) node.crash();
  all.end();
});

test('where a promoted node and all other members were killed the last active continues', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b', 'c']);
  const { clock, map } = all.cluster;
  await all.begin();
  await all.write('a', 'durable', persisted);
  all.node('b').holdMapChanges();
  all.kill('a');
  await map.nameActive(0, 'b');
  await clock.run(1_000);
  for (const name of ['b', 'c']) all.kill(name);
  for (const name of ['b', 'c']) await all.start(name);
  await clock.run(20_000);
  assert.equal(
    all.serves('b') || all.serves('c'),
    false,
    'only the disk of node a surely has what was persisted',
  );
  await all.start('a');
  await clock.run(5_000);
  assert.equal(all.serves('a'), true);
  assert.equal(all.has('a', 'durable'), true);
  await all.write('a', 'later', persisted);
  all.end();
});

for (const end of ['stop', 'kill'] as const)
  test(`durable writes wait for a copy that is back soon after a ${end}, and the copy stays in the set`, async (t) => {
    const all = new Restarts(aSeed(t), ['a', 'b']);
    const { clock } = all.cluster;
    await all.begin();
    await all.write('a', 'before', majority);
    if (end === 'stop') await all.stop('b');
    else all.kill('b');
    await clock.run(500);
    assert.deepEqual(await all.members(), ['a', 'b'], 'a copy left the set that may be back in a moment');
    assert.equal(all.node('a').store('meanwhile', 0, { ...majority, value: 'x' }), Status.success);
    const token = all.node('a').result.pending;
    await all.start('b');
    for (let i = 0; i < 100; i++) {
      await clock.run(20);
      assert.equal((await all.members()).length, 2, 'the set is never smaller');
    }
    assert.deepEqual(await all.members(), ['a', 'b']);
    assert.equal(all.node('a').resolved.get(token), Status.success);
    all.end();
  });

test('a copy that is not back soon leaves the set', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b']);
  await all.begin();
  await all.stop('b');
  await all.cluster.clock.run(2_500);
  assert.deepEqual(await all.members(), ['a']);
  assert.equal(all.node('a').store('k', 0, majority), Status.durabilityImpossible);
  all.end();
});

test('a copy whose next process is back and does not catch up in time leaves the set', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b']);
  const { clock } = all.cluster;
  await all.begin();
  all.kill('b');
  await clock.run(200);
  // Node b is connected and answers heartbeats. Without the map it applies no changes.
  (await all.start('b')).receivesMap = false;
  await clock.run(1_000);
  assert.deepEqual(await all.members(), ['a', 'b before']);
  await clock.run(2_000);
  assert.deepEqual(await all.members(), ['a']);
  assert.equal(all.node('a').store('k', 0, majority), Status.durabilityImpossible);
  all.end();
});

test('a copy that stopped leaves an in-sync set at once if enough members remain', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b', 'c']);
  await all.begin();
  await all.stop('b');
  await all.cluster.clock.run(500);
  assert.deepEqual((await all.members()).sort(), ['a', 'c']);
  all.end();
});
