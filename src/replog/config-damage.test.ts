// Opening a damaged configuration file fails with an error that names the file and leaves it unchanged, or reads what was written.
import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { aSeed } from '../../test/support/random.ts';
import { EmbeddedConfigStore } from './embedded-config-store.adapter.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-config-'));
after(() => rmSync(scratch, { recursive: true }));

const clean = join(scratch, 'clean');
/** A copy of the folder of a running store: the last changes are in the write-ahead log. */
const killed = join(scratch, 'killed');
const entries = Array.from(
  { length: 12 },
  (_, i) => [`bucket/${i}`, { type: 'native', quota: 100 + i }] as const,
);

before(async () => {
  mkdirSync(clean);
  {
    await using store = new EmbeddedConfigStore(join(clean, 'config.db'));
    for (const [key, value] of entries)
      await store.put(key, 'first', 0).then((revision) => store.put(key, value, revision as number));
    await store.put('gone', 1, 0);
    await store.delete('gone', store.revision());
    cpSync(clean, killed, { recursive: true });
  }
});

let copies = 0;
function copyOf(folder: string, damage: (path: string) => void = () => {}): string {
  const path = join(scratch, `copy-${++copies}`);
  cpSync(folder, path, { recursive: true });
  damage(join(path, 'config.db'));
  return path;
}

async function contentsOf(folder: string): Promise<unknown> {
  await using store = new EmbeddedConfigStore(join(folder, 'config.db'));
  return { revision: store.revision(), entries: await store.list('') };
}

const filesOf = (folder: string): [string, string][] =>
  readdirSync(folder)
    .filter((name) => !name.endsWith('-shm'))
    .map((name) => [name, readFileSync(join(folder, name)).toString('base64')]);

async function assertRefused(folder: string, reason: RegExp): Promise<void> {
  const before = filesOf(folder);
  await assert.rejects(contentsOf(folder), reason);
  assert.deepEqual(filesOf(folder), before);
  await assert.rejects(contentsOf(folder), reason);
}

function rewrite(path: string, from: string, to: string): void {
  const bytes = readFileSync(path);
  assert.ok(bytes.includes(from));
  for (let offset = -1; (offset = bytes.indexOf(from, offset + 1)) >= 0; ) bytes.write(to, offset);
  writeFileSync(path, bytes);
}

test('a flipped bit anywhere in the file has no effect, or opening fails with an error that names the file', async (t) => {
  const random = aSeed(t);
  const undamaged = await contentsOf(copyOf(clean));
  const bytes = readFileSync(join(clean, 'config.db'));
  const flips = Number(process.env['DIVAN_TEST_FLIPS'] ?? 200);
  let refusals = 0;
  for (let i = 0; i < flips; i++) {
    const offset = i < 100 ? i : random(bytes.length);
    const changed = Buffer.from(bytes);
    changed[offset] = (changed[offset] as number) ^ (1 << random(8));
    const folder = copyOf(clean, (path) => writeFileSync(path, changed));
    try {
      assert.deepEqual(await contentsOf(folder), undamaged, `byte ${offset}`);
    } catch (error) {
      assert.match(
        (error as Error).message,
        /cannot open the configuration file .*config\.db/,
        `byte ${offset}`,
      );
      assert.deepEqual(readFileSync(join(folder, 'config.db')), changed, `byte ${offset}`);
      refusals++;
    }
    rmSync(folder, { recursive: true });
  }
  t.diagnostic(`${refusals} of ${flips} flips refused`);
  assert.ok(refusals > flips / 10);
});

test('opening fails for a changed letter of a value and of a key, with an error that names the entry', async () => {
  const value = copyOf(clean, (path) => rewrite(path, '"quota":103', '"quota":102'));
  await assertRefused(value, /the entry "bucket\/3" is damaged/);
  const key = copyOf(clean, (path) => rewrite(path, 'bucket/3', 'bucket/4'));
  await assertRefused(key, /damaged/);
});

test('a missing entry is detected', async () => {
  const folder = copyOf(clean, (path) => {
    const database = new DatabaseSync(path);
    database.exec(`delete from entry where key = 'bucket/3'`);
    database.close();
  });
  await assertRefused(folder, /entries are missing/);
});

test('a file whose write-ahead log is missing or truncated is refused', async () => {
  await assertRefused(
    copyOf(killed, (path) => rmSync(`${path}-wal`)),
    /commits are missing: its write-ahead log was lost or cut short, or an older copy/,
  );
  const bytes = readFileSync(join(killed, 'config.db-wal'));
  for (const part of [0, 0.3, 0.9])
    await assertRefused(
      copyOf(killed, (path) => writeFileSync(`${path}-wal`, bytes.subarray(0, bytes.length * part))),
      /the last \d+ of its 26 commits are missing/,
    );
  const uncounted = copyOf(killed, (path) => {
    rmSync(`${path}-wal`);
    rmSync(`${path}-commits`);
  });
  await assertRefused(uncounted, /its write-ahead log is missing, though the file was in use/);
});

test('a killed store opens with everything, also after another program copied its log into the file', async () => {
  const undamaged = await contentsOf(copyOf(clean));
  assert.deepEqual(await contentsOf(copyOf(killed)), undamaged);
  const merged = copyOf(killed, (path) => {
    const database = new DatabaseSync(path);
    database.exec('pragma wal_checkpoint(truncate)');
    database.close();
  });
  assert.deepEqual(readdirSync(merged).includes('config.db-wal'), false);
  assert.deepEqual(await contentsOf(merged), undamaged);
});

test('a file with its write-ahead log opens although the commit counter is behind, damaged or absent', async () => {
  const undamaged = await contentsOf(copyOf(clean));
  for (const text of ['', 'x', `${'9'.repeat(16)} 00000000\n`])
    assert.deepEqual(
      await contentsOf(copyOf(killed, (path) => writeFileSync(`${path}-commits`, text))),
      undamaged,
    );
  assert.deepEqual(await contentsOf(copyOf(killed, (path) => rmSync(`${path}-commits`))), undamaged);
  const behind = copyOf(killed, (path) =>
    copyFileSync(join(copyOf(killed), 'config.db-commits'), `${path}-commits`),
  );
  assert.deepEqual(await contentsOf(behind), undamaged);
});

test('a file of the first schema opens, and has checksums from then on', async () => {
  const folder = join(scratch, 'first-schema');
  mkdirSync(folder);
  const old = new DatabaseSync(join(folder, 'config.db'));
  old.exec(`pragma journal_mode = wal;
    create table entry(key text primary key, value text not null, revision integer not null) without rowid;
    create table store(id integer primary key check (id = 1), revision integer not null);
    insert into store values (1, 7);
    insert into entry values ('a', '{"deep":["ü"]}', 3), ('b', '"native"', 7);
    pragma application_id = 0x44564e43; pragma user_version = 1`);
  old.close();
  {
    await using store = new EmbeddedConfigStore(join(folder, 'config.db'));
    assert.deepEqual(await store.get('a'), { key: 'a', value: { deep: ['ü'] }, revision: 3 });
    assert.equal(await store.put('b', 'cache', 7), 8);
  }
  rewrite(join(folder, 'config.db'), '"cache"', '"cachd"');
  await assertRefused(folder, /the entry "b" is damaged/);
});

test('an entry that was damaged while the store is open is neither served nor overwritten', async () => {
  const folder = copyOf(clean);
  await using store = new EmbeddedConfigStore(join(folder, 'config.db'));
  const other = new DatabaseSync(join(folder, 'config.db'));
  other.exec(`update entry set value = '{"type":"nativd","quota":103}' where key = 'bucket/3'`);
  other.close();
  await assert.rejects(store.get('bucket/3'), /the entry "bucket\/3" is damaged/);
  await assert.rejects(store.list('bucket/'), /damaged/);
  await assert.rejects(
    store.put('bucket/3', {}, 8),
    /Nothing was changed: .*the entry "bucket\/3" is damaged/,
  );
});
