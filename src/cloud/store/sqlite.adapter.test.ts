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
  const store = openSqlite(path);
  t.after(async () => {
    await store.destroy();
    rmSync(folder, { recursive: true });
  });
  await migrate(store);
  const names = async (): Promise<string[]> =>
    (await store.selectFrom('projects').select('name').orderBy('id').execute()).map(({ name }) => name);
  return { store, path, names };
}

const project = (id: string) => ({ id, name: id, created_at: 0 });

test('sees at once what it wrote itself, and what another process wrote', async (t) => {
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

test('keeps nothing of a transaction that was rolled back', async (t) => {
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

test('gives everybody rows of their own', async (t) => {
  const { store } = await aStore(t);
  await store.insertInto('projects').values(project('a')).execute();
  const read = () => store.selectFrom('projects').selectAll().executeTakeFirstOrThrow();
  (await read()).name = 'scribbled';
  assert.equal((await read()).name, 'a');
});
