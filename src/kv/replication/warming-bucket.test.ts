// A restarted node whose bucket loads its documents for a long time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { aSeed } from '../../../test/support/random.ts';
import { majority, Restarts } from '../../../test/support/restarts.ts';

test('other members serve the shards of a killed active while its next process loads', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b', 'c']);
  const { clock, map } = all.cluster;
  await all.begin();
  await all.write('a', 'durable', majority);
  all.kill('a');
  const loaded = deferred<void>();
  all.loaded = loaded.promise;
  const starting = all.start('a');
  await clock.run(1_500);
  const [active = -1] = (await map.shards())[0]?.chain ?? [];
  assert.ok(active > 0, 'another node was promoted');
  const successor = all.cluster.names[active] ?? '';
  assert.equal(all.serves(successor), true);
  assert.equal(all.has(successor, 'durable'), true);
  await all.write(successor, 'meanwhile', majority);
  loaded.resolve();
  await starting;
  await clock.run(3_000);
  assert.equal(all.has('a', 'meanwhile'), true);
  assert.ok((await all.members()).includes('a'), 'node a is not a member again');
  all.end();
});

test('after a clean stop of a node its next process serves its shards again, however long it loads', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b', 'c']);
  const { clock } = all.cluster;
  await all.begin();
  await all.write('a', 'durable', majority);
  await all.stop('a');
  const loaded = deferred<void>();
  all.loaded = loaded.promise;
  const starting = all.start('a');
  await clock.run(3_000);
  loaded.resolve();
  await starting;
  await clock.run(1_000);
  assert.equal(all.serves('a'), true);
  assert.equal(all.has('a', 'durable'), true);
  all.end();
});

test('if all members of a shard were killed, the active’s next process loads, and serves what its disk has', async (t) => {
  const all = new Restarts(aSeed(t), ['a', 'b']);
  const { clock } = all.cluster;
  await all.begin();
  await all.write('a', 'durable', { ...majority });
  for (const name of ['b', 'a']) all.kill(name);
  const loaded = deferred<void>();
  all.loaded = loaded.promise;
  const starting = [all.start('a'), all.start('b')];
  await clock.run(3_000);
  assert.equal((await all.cluster.map.shards())[0]?.chain[0], 0);
  loaded.resolve();
  await Promise.all(starting);
  await clock.run(15_000);
  assert.equal(all.serves('a'), true);
  all.end();
});
