import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { realRandom } from '#ports/random.ts';
import { DataFolder } from './data-folder.ts';

test('the data folder has the administrator of `divan up` encrypted, in a file that only its owner can read', () => {
  const parent = mkdtempSync(join(tmpdir(), 'divan-folder-'));
  const path = join(parent, 'data');
  const administrator = { username: 'Administrator', password: 'made-up-password' };
  const folder = DataFolder.open(path, realRandom);
  assert.equal(folder.generatedAdministrator(), null);
  folder.keepGeneratedAdministrator(administrator);
  assert.deepEqual(DataFolder.open(path, realRandom).generatedAdministrator(), administrator);
  for (const file of ['secret.key', 'administrator.sealed']) {
    assert.equal(statSync(join(path, file)).mode & 0o777, 0o600);
    assert.ok(!readFileSync(join(path, file), 'latin1').includes(administrator.password));
  }
  assert.equal(statSync(path).mode & 0o777, 0o700);
  rmSync(parent, { recursive: true });
});

test('the node reads the id of a folder without the line end that an editor added', (t) => {
  const path = mkdtempSync(join(tmpdir(), 'divan-folder-'));
  t.after(() => rmSync(path, { recursive: true }));
  const folder = DataFolder.open(path, realRandom);
  const id = folder.id();
  writeFileSync(join(path, 'folder.id'), `${id}\n`);
  assert.equal(folder.id(), id);
});
