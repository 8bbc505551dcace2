import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import { HomeCapacities } from './home-capacities.ts';

test('a server uses the capacity and the size scale of another for its nodes, as that one recorded them last', async (t) => {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  const here = new HomeCapacities({ store, home: 'here', capacityMb: 8_000, sizeScale: 1 / 64 });
  await here.record();
  assert.equal(await here.of('there'), here.own);
  for (const sizeScale of [1 / 8, 1 / 32])
    await new HomeCapacities({ store, home: 'there', capacityMb: 500, sizeScale }).record();
  const there = await here.of('there');
  assert.deepEqual([there.memoryMb(16), here.own.memoryMb(16)], [512, 256]);
  const group = { size: 1, memoryGib: 16, services: [], asked: null };
  await assert.rejects(
    there.reserve(store, 'there', [group]),
    /would take 512 MB and 500 of 500 MB are free/,
  );
  assert.equal(await here.of('here'), here.own);
});
