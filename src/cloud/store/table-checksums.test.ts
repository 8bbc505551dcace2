// Damage of the cloud's file is found before the cloud serves or changes anything.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { aSeed } from '../../../test/support/random.ts';
import { migrate } from './migrations.ts';
import { openSqlite } from './sqlite.adapter.ts';
import { sumModulo } from './table-checksums.adapter.ts';

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'divan-checksums-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const names = ['one', 'two', 'three'];

async function fill(path: string, hasChecksums = true): Promise<void> {
  const { store, checksums } = openSqlite(path);
  await migrate(store, hasChecksums ? checksums : undefined);
  for (const name of names) {
    await store.insertInto('projects').values({ id: name, name: 'before', created_at: 1 }).execute();
    await store.updateTable('projects').set({ name }).where('id', '=', name).execute();
  }
  await store.insertInto('projects').values({ id: 'gone', name: 'gone', created_at: 1 }).execute();
  await store.deleteFrom('projects').where('id', '=', 'gone').execute();
  await store
    .insertInto('facts')
    .values({ name: 'tenant_id', value: 't' })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: 't' }))
    .execute();
  await store.destroy();
}

async function read(path: string): Promise<unknown> {
  const { store, checksums } = openSqlite(path);
  try {
    await migrate(store, checksums);
    const facts = await store.selectFrom('facts').selectAll().execute();
    return { facts, projects: await store.selectFrom('projects').selectAll().orderBy('id').execute() };
  } finally {
    await store.destroy();
  }
}

test('a file with any one flipped bit is refused or has all rows unchanged', async (t) => {
  const folder = aFolder(t);
  const path = join(folder, 'cloud.db');
  await fill(path);
  const intact = await read(path);
  const bytes = readFileSync(path);
  const random = aSeed(t);
  const flips = Number(process.env['DIVAN_TEST_FLIPS'] ?? 140);
  let found = 0;
  for (let i = 0; i < flips; i++) {
    const changed = Buffer.from(bytes);
    const at = i < 100 ? i : random(bytes.length);
    changed[at] = (changed[at] as number) ^ (1 << random(8));
    const copy = join(folder, `copy-${i}.db`);
    writeFileSync(copy, changed);
    const outcome = await read(copy).catch((error: Error) => error);
    if (outcome instanceof Error) found++;
    else assert.deepEqual(outcome, intact, `byte ${at}`);
  }
  t.diagnostic(`${found} of ${flips} flips refused`);
  assert.ok(found > 5);
});

for (const [what, sql, says] of [
  ['a changed value', "update projects set name = 'onf' where id = 'one'", /rows of the table projects/],
  ['a missing row', "delete from projects where id = 'one'", /rows of the table projects/],
  [
    'a changed checksum',
    "update divan_seals set sum = sum + 1 where name = 'facts'",
    /rows of the table facts/,
  ],
  ['a missing checksum', "delete from divan_seals where name = 'facts'", /rows of the table facts/],
] as const) {
  test(`${what} is refused with the name of its table`, async (t) => {
    const path = join(aFolder(t), 'cloud.db');
    await fill(path);
    const other = new DatabaseSync(path);
    const triggers = other.prepare("select name, sql from sqlite_schema where type = 'trigger'").all();
    for (const { name } of triggers) other.exec(`drop trigger ${name}`);
    other.exec(sql);
    for (const { sql: trigger } of triggers) other.exec(String(trigger));
    other.close();
    await assert.rejects(read(path), says);
  });
}

test('a file of an older version opens and gets checksums', async (t) => {
  const path = join(aFolder(t), 'cloud.db');
  await fill(path, false);
  const intact = await read(path);
  const bytes = readFileSync(path);
  for (let at = -1; (at = bytes.indexOf('three', at + 1)) >= 0; ) bytes.write('thref', at);
  writeFileSync(path, bytes);
  assert.deepEqual((intact as { projects: { name: string }[] }).projects.length, names.length);
  await assert.rejects(read(path), /damaged/);
});

test('the sum of checksums is exact above 2^53, as of some million rows', () => {
  const database = new DatabaseSync(':memory:');
  const values = [2 ** 53 - 1, 1, 1].map((value) => `(${value}.0)`).join(', ');
  const sum = database.prepare(`select ${sumModulo('column1')} as sum from (values ${values})`).get();
  const none = database
    .prepare(`select ${sumModulo('column1')} as sum from (select 1 as column1 where 0)`)
    .get();
  database.close();
  assert.deepEqual([sum?.['sum'], none?.['sum']], [1, 0]);
});
