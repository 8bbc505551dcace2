// Only their owner may read the files of a node and of the cloud, also in a folder that others may enter.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqlite } from '#cloud/store/sqlite.adapter.ts';
import { NodeProcess } from '../support/node-process.ts';

const filesOpenToOthers = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => (statSync(path).mode & 0o077) !== 0);

test('files of a node are private, and the next start makes a readable one private', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-modes-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  chmodSync(dataDir, 0o755);
  await using first = await NodeProcess.start({ dataDir, args: ['--bucket', 'b'] });
  const files = readdirSync(dataDir, { recursive: true }).map(String);
  const data = files.find((name) => /data-[\d.]+\.db$/.test(name));
  assert.ok(data, files.join(' '));
  assert.deepEqual(filesOpenToOthers(dataDir), []);
  await first.stop();
  chmodSync(join(dataDir, data), 0o644);
  await using second = await NodeProcess.start({ dataDir });
  assert.deepEqual(filesOpenToOthers(dataDir), []);
  assert.equal(await second.stop(), 0);
});

test('files of the cloud database are private', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-modes-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { store, state } = openSqlite(join(folder, 'cloud.db'));
  await state.read();
  assert.ok(readdirSync(folder).length > 0);
  assert.deepEqual(filesOpenToOthers(folder), []);
  await store.destroy();
});
