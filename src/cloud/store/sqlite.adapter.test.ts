import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { migrate } from './migrations.ts';
import { openSqlite } from './sqlite.adapter.ts';

async function aStore(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'divan-store-'));
  const path = join(folder, 'cloud.db');
  const { store, state } = openSqlite(path);
  t.after(async () => {
    await store.destroy();
    rmSync(folder, { recursive: true });
  });
  await migrate(store);
  const names = async (): Promise<string[]> =>
    (await store.selectFrom('projects').select('name').orderBy('id').execute()).map(({ name }) => name);
  return { store, state, path, names };
}

const project = (id: string) => ({ id, name: id, created_at: 0 });

test('the store reads its own writes and those of another process at once', async (t) => {
  const { store, path, names } = await aStore(t);
  assert.deepEqual(await names(), []);
  await store.insertInto('projects').values(project('a')).execute();
  assert.deepEqual([await names(), await names()], [['a'], ['a']]);
  const other = new DatabaseSync(path);
  other.exec("insert into projects (id, name, created_at) values ('b', 'b', 0)");
  assert.deepEqual(await names(), ['a', 'b']);
  other.exec("delete from projects where id = 'a'");
  assert.deepEqual(await names(), ['b']);
  other.close();
});

test('the store keeps nothing of a transaction that was rolled back', async (t) => {
  const { store, names } = await aStore(t);
  const undone = store.transaction().execute(async (transaction) => {
    await transaction.insertInto('projects').values(project('a')).execute();
    const inside = await transaction.selectFrom('projects').select('name').orderBy('id').execute();
    assert.equal(inside.length, 1);
    throw new Error('undone');
  });
  await assert.rejects(undone, /undone/);
  assert.deepEqual(await names(), []);
});

test('the state that the store reports differs after each write of any process, and stays the same between writes', async (t) => {
  const { store, state, path, names } = await aStore(t);
  const other = new DatabaseSync(path);
  const seen = new Set<unknown>();
  for (let i = 0; i < 20; i++) {
    if (i % 2 === 0)
      await store
        .insertInto('projects')
        .values(project(`${i}`))
        .execute();
    else other.exec(`insert into projects (id, name, created_at) values ('${i}', '', 0)`);
    const now = state.read();
    assert.equal(seen.has(now), false, `write ${i}`);
    seen.add(now);
    await names();
    assert.equal(state.read(), now);
  }
  other.close();
});

test('the store reports a different state each time while an open transaction hides the writes of other processes', async (t) => {
  const { store, state, path } = await aStore(t);
  const other = new DatabaseSync(path);
  const before = state.read();
  await store.transaction().execute(async (transaction) => {
    await transaction.selectFrom('projects').selectAll().execute();
    other.exec("insert into projects (id, name, created_at) values ('a', 'a', 0)");
    const inside = [state.read(), state.read()];
    assert.equal(new Set([before, ...inside]).size, 3);
  });
  assert.notEqual(state.read(), before);
  other.close();
});
