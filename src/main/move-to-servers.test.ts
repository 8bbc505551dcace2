// Where the changes are made that wait during a move: in the new store, or in the earlier one if the move fails before its last change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineKey } from '#cluster/engine/engine-record.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { SwitchingConfigStore } from '#replog/switching-config-store.ts';
import { type ContentMove, moveContent } from './move-to-servers.ts';

const record = { nodes: ['a', 'b', 'c'], source: 'sealed' };

async function aMove(changes: Partial<ContentMove> = {}) {
  const founder = new MemoryConfigStore();
  await founder.put('k', 'v', 0);
  const present = new SwitchingConfigStore(founder);
  const target = new MemoryConfigStore();
  const move: ContentMove = {
    record,
    content: async () => [{ key: 'k', json: '"v"', revision: 1, writes: null }],
    prepare: () => {},
    use: () => present.switchTo(target),
    ...changes,
  };
  return { founder, present, target, done: moveContent(present, target, move) };
}

test('changes that waited for a move are made in the new store', async () => {
  const { founder, present, target, done } = await aMove();
  const waiting = present.put('later', 1, 0);
  await done;
  assert.notEqual(await waiting, null);
  assert.equal((await target.get('later'))?.value, 1);
  assert.equal(await founder.get('later'), null);
  assert.deepEqual((await founder.get(engineKey))?.value, record);
  assert.equal((await target.get('k'))?.value, 'v');
});

test('a move that fails before the last change leaves the present store in use', async () => {
  const full = () => Promise.reject(new Error('the servers are full'));
  const { founder, present, done } = await aMove({ content: full });
  const waiting = present.put('later', 1, 0);
  await assert.rejects(done, /the servers are full/);
  assert.notEqual(await waiting, null);
  assert.equal((await founder.get('later'))?.value, 1);
  assert.equal(await founder.get(engineKey), null);
});

test('after its last change the earlier store accepts no change, even if the new store cannot be used', async () => {
  const { founder, present, done } = await aMove({
    use: () => Promise.reject(new Error('the disk is full')),
  });
  let outcome: unknown = 'it waits';
  const waiting = present.put('later', 1, 0).then((revision) => (outcome = revision));
  await assert.rejects(done, /the disk is full/);
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(outcome, 'it waits');
  assert.equal(await founder.get('later'), null);
  // The next start uses the new store.
  const next = new MemoryConfigStore();
  await present.switchTo(next);
  present.release();
  await waiting;
  assert.equal((await next.get('later'))?.value, 1);
});
