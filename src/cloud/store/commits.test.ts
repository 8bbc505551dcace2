// Commits that the cloud's file lost are detected when it is opened; the file is not changed.
import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
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
import { type TestContext, test } from 'node:test';
import { UnwritableError } from '#base/unwritable-error.ts';
import { migrate } from './migrations.ts';
import { openSqlite } from './sqlite.adapter.ts';

const count = 20;

async function opened(path: string) {
  const { store, checksums } = openSqlite(path);
  await migrate(store, checksums).catch(async (error) => {
    await store.destroy();
    throw error;
  });
  return store;
}

const project = (id: string) => ({ id, name: id, created_at: 0 });

/** Writes outside a transaction, in one, and in one that is rolled back. */
async function fill(store: Awaited<ReturnType<typeof opened>>): Promise<void> {
  for (let at = 0; at < count; at++) {
    if (at % 2 === 0) {
      await store
        .insertInto('projects')
        .values(project(`p${at}`))
        .execute();
      continue;
    }
    await store.transaction().execute(async (transaction) => {
      await transaction
        .insertInto('projects')
        .values(project(`p${at}`))
        .execute();
      await transaction.updateTable('projects').set({ created_at: 1 }).where('id', '=', `p${at}`).execute();
    });
    const undone = store.transaction().execute(async (transaction) => {
      await transaction.insertInto('projects').values(project('undone')).execute();
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
  }
}

/** The folder of a stopped process, and the folder of a killed one. */
async function folders(t: TestContext) {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-commits-'));
  t.after(() => rmSync(scratch, { recursive: true }));
  const clean = join(scratch, 'clean');
  const killed = join(scratch, 'killed');
  mkdirSync(clean);
  const store = await opened(join(clean, 'cloud.db'));
  await fill(store);
  cpSync(clean, killed, { recursive: true });
  await store.destroy();
  let copies = 0;
  const copyOf = (folder: string, damage: (path: string) => void = () => {}): string => {
    const copy = join(scratch, `copy-${++copies}`);
    cpSync(folder, copy, { recursive: true });
    damage(join(copy, 'cloud.db'));
    return copy;
  };
  return { clean, killed, copyOf };
}

async function projectsIn(folder: string): Promise<number> {
  const store = await opened(join(folder, 'cloud.db'));
  try {
    return (await store.selectFrom('projects').select('id').execute()).length;
  } finally {
    await store.destroy();
  }
}

const filesOf = (folder: string): [string, string][] =>
  readdirSync(folder)
    .filter((name) => !name.endsWith('-shm'))
    .map((name) => [name, readFileSync(join(folder, name)).toString('base64')]);

async function refused(folder: string, reason: RegExp): Promise<void> {
  const present = filesOf(folder);
  for (let tries = 0; tries < 2; tries++) {
    await assert.rejects(projectsIn(folder), reason);
    assert.deepEqual(filesOf(folder), present);
  }
}

test('a lost log and a shortened one are refused, and the files are not changed', async (t) => {
  const { killed, copyOf } = await folders(t);
  await refused(
    copyOf(killed, (path) => rmSync(`${path}-wal`)),
    /the last \d+ of its \d+ commits are missing: its write-ahead log was lost or cut short/,
  );
  const log = readFileSync(join(killed, 'cloud.db-wal'));
  for (const part of [0, 0.3, 0.9])
    await refused(
      copyOf(killed, (path) => writeFileSync(`${path}-wal`, log.subarray(0, log.length * part))),
      /the last \d+ of its \d+ commits are missing/,
    );
  const uncounted = copyOf(killed, (path) => {
    rmSync(`${path}-wal`);
    rmSync(`${path}-commits`);
  });
  await refused(uncounted, /its write-ahead log is missing, though the file was in use/);
});

test('each commit is counted once, and a rolled-back transaction is not counted', async (t) => {
  const { clean } = await folders(t);
  assert.equal(Number(readFileSync(join(clean, 'cloud.db-commits'), 'latin1').slice(0, 16)), count);
});

test('an older copy of the file is refused, an older copy of the whole folder is opened', async (t) => {
  const { clean, copyOf } = await folders(t);
  const older = copyOf(clean);
  const store = await opened(join(clean, 'cloud.db'));
  await store.insertInto('projects').values(project('later')).execute();
  await store.destroy();
  assert.equal(await projectsIn(older), count);
  copyFileSync(join(older, 'cloud.db'), join(clean, 'cloud.db'));
  await refused(clean, /the last 1 of its 21 commits are missing.*an older copy of the file/);
});

test('a missing or empty file is refused, with its log and without', async (t) => {
  const { clean, killed, copyOf } = await folders(t);
  for (const folder of [clean, killed])
    for (const damage of [(path: string) => rmSync(path), (path: string) => writeFileSync(path, '')])
      await refused(copyOf(folder, damage), /it is missing or empty, though it had 20 commits/);
});

test('the files of a killed and a stopped process, and a file without its count, open with all rows', async (t) => {
  const { clean, killed, copyOf } = await folders(t);
  for (const folder of [clean, killed]) {
    assert.equal(await projectsIn(copyOf(folder)), count);
    assert.equal(await projectsIn(copyOf(folder, (path) => rmSync(`${path}-commits`))), count);
  }
  const merged = copyOf(killed, (path) => {
    const database = new DatabaseSync(path);
    database.exec('pragma wal_checkpoint(truncate)');
    database.close();
  });
  assert.equal(existsSync(join(merged, 'cloud.db-wal')), false);
  assert.equal(await projectsIn(merged), count);
});

test('two processes share a file, and a later loss is found', async (t) => {
  const { clean, copyOf } = await folders(t);
  const path = join(clean, 'cloud.db');
  const store = await opened(path);
  for (let round = 0; round < 3; round++) {
    const command = await opened(path);
    await command
      .insertInto('projects')
      .values(project(`c${round}`))
      .execute();
    await store
      .insertInto('projects')
      .values(project(`s${round}`))
      .execute();
    await command.destroy();
  }
  const killed = copyOf(clean);
  assert.equal(await projectsIn(copyOf(killed)), count + 6);
  await refused(
    copyOf(killed, (at) => rmSync(`${at}-wal`)),
    /the last \d+ of its 26 commits are missing/,
  );
  await store.destroy();
  assert.equal(await projectsIn(clean), count + 6);
});

test('after the administrator accepts the loss, the file opens without the lost commits', async (t) => {
  const { killed, copyOf } = await folders(t);
  const folder = copyOf(killed, (path) => {
    rmSync(`${path}-commits`);
    writeFileSync(`${path}-wal`, '');
  });
  assert.equal(await projectsIn(folder), 0);
});

test('a write that SQLite refuses throws that error and is not counted', async (t) => {
  const { clean } = await folders(t);
  const store = await opened(join(clean, 'cloud.db'));
  const inserts = store.insertInto('projects').values(project('p1')).execute();
  await assert.rejects(inserts, (error) => !(error instanceof UnwritableError));
  await store.insertInto('projects').values(project('next')).execute();
  await store.destroy();
  assert.equal(await projectsIn(clean), count + 1);
  assert.equal(Number(readFileSync(join(clean, 'cloud.db-commits'), 'latin1').slice(0, 16)), count + 1);
});
