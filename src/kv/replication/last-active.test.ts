// Which node continues a shard whose active confirmed before its own disk had the shard, where all members were killed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aSeed } from '../../../test/support/random.ts';
import { activePersisted, majority, persisted, Restarts } from '../../../test/support/restarts.ts';

test('a node that confirmed in memory alone is not the one that continues when all were killed', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b']);
  const { clock, map } = all.cluster;
  await all.begin();
  all.failDisk('b');
  await all.write('a', 'k', activePersisted);
  all.kill('a');
  // Longer than node b believes that node a is connected, to which it would pass the shard on.
  await clock.run(6_000);
  await map.nameActive(0, 'b');
  await all.until(async () => (await all.confirmed()) === all.node('b').boot, 'node b does not confirm');
  all.kill('b');
  for (const name of ['a', 'b']) await all.start(name);
  await clock.run(5_000);
  assert.deepEqual([all.serves('a'), all.serves('b')], [true, false]);
  assert.equal(all.has('a', 'k'), true, 'lost, although the disk of node a has it');
  all.end();
});

test('a copy with a failed disk loses no persisted write after it served instead of the nodes that have the write on disk', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b', 'c']);
  const { clock, map } = all.cluster;
  await all.begin();
  all.failDisk('c');
  await all.write('a', 'k', persisted);
  all.kill('b');
  await clock.run(3_000);
  assert.deepEqual((await all.members()).sort(), ['a', 'c'], 'node c is a member by its memory');
  all.kill('a');
  await clock.run(6_000);
  await map.nameActive(0, 'c');
  await all.until(async () => (await all.confirmed()) === all.node('c').boot, 'node c does not confirm');
  for (const name of ['a', 'b']) await all.start(name);
  await all.until(() => all.serves('c'), 'node c does not serve');
  assert.equal(all.has('c', 'k'), true);
  for (const name of ['a', 'b', 'c']) all.kill(name);
  for (const name of ['c', 'b', 'a']) await all.start(name);
  await clock.run(15_000);
  const [active = ''] = ['a', 'b', 'c'].filter((name) => all.serves(name));
  assert.equal(all.has(active, 'k'), true, `lost by node ${active}, although two disks have it`);
  all.end();
});

test('an active that was promoted within the delay of its flush is not the one that continues when all were killed', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b', 'c']);
  const { clock } = all.cluster;
  await all.begin();
  await all.write('a', 'k', activePersisted);
  all.kill('a');
  await all.start('a');
  // As soon as one has: its disk does not have the shard then.
  for (let i = 0; i < 2_000 && !all.serves('b') && !all.serves('c'); i++) await clock.run(1);
  assert.notEqual(all.serves('b'), all.serves('c'), 'another member has not taken over yet');
  for (const name of ['a', 'b', 'c']) all.kill(name);
  for (const name of ['c', 'b', 'a']) await all.start(name);
  await clock.run(15_000);
  const [active = ''] = ['a', 'b', 'c'].filter((name) => all.serves(name));
  assert.equal(all.has(active, 'k'), true, `lost by node ${active}, although the disk of node a has it`);
  all.end();
});

test('the last active leaves in the write of the map that says that the disk of the new one has the shard', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b', 'c']);
  const { clock, map } = all.cluster;
  await all.begin();
  for (const name of ['b', 'c']) all.fillDisk(name, true);
  await all.write('a', 'k', activePersisted);
  await all.stop('a');
  // By then the others have seen the end of their connections. A new active that has not would pass the shard on to node a.
  await clock.run(1_000);
  await map.nameActive(0, 'b');
  const others = ['b', 'c'].map((name) => all.node(name).boot);
  await all.until(async () => others.includes((await all.confirmed()) ?? ''), 'no other node confirms');
  await clock.run(2_000);
  assert.deepEqual(
    [all.serves('b'), all.serves('c')],
    [false, false],
    'no disk but that of node a has the write',
  );
  const placements = all.recordedPlacements();
  const active = (await all.confirmed())?.slice(0, 1) ?? '';
  all.fillDisk(active, false);
  await all.until(() => all.serves(active), `node ${active} does not serve`);
  const states = placements.map(({ inSync = [], lastActive }) => {
    const members = inSync.map(([at]) => all.cluster.names[at]).sort();
    return `${members.join('')}, last active: ${lastActive?.node ?? 'the present one'}`;
  });
  assert.deepEqual([...new Set(states)], ['bc, last active: the present one']);
  all.end();
});

test('no copy joins the set of a new active without what the active took over', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b']);
  const { clock, map } = all.cluster;
  await all.begin();
  all.failDisk('b');
  await all.write('a', 'k', majority);
  all.kill('a');
  await clock.run(6_000);
  await map.nameActive(0, 'b');
  await all.until(async () => (await all.confirmed()) === all.node('b').boot, 'node b does not confirm');
  // Memory of node b lacks versions, and its file has failed: it cannot send what it has.
  const { columns } = all.node('b').bucket;
  for (const vb of [0, 4]) columns.noteUncounted(vb, columns.highSeqno[vb] as number);
  const copy = await all.start('a');
  await clock.run(2_000);
  // A copy reports its position after each write of its disk, and reports that it follows as it did before the restart.
  await clock.until(copy.bucket.writeStates([0, 4]));
  await clock.run(10_000);
  assert.deepEqual((await all.members()).sort(), ['a before', 'b']);
  assert.equal(all.serves('b'), false);
  all.end();
});
