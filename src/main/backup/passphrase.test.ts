import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { backupPassphrase } from './passphrase.ts';

test('a passphrase is the same from a file and from a variable with the content of that file', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-passphrase-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'passphrase');
  for (const text of [' a b ', ' a b \n', ' a b \r\n']) {
    writeFileSync(file, text);
    const fromVariable = backupPassphrase(undefined, { DIVAN_BACKUP_PASSPHRASE: text });
    assert.deepEqual([backupPassphrase(file, {}), fromVariable], [' a b ', ' a b '], JSON.stringify(text));
  }
  assert.equal(backupPassphrase(undefined, {}), undefined);
  assert.equal(backupPassphrase(undefined, { DIVAN_BACKUP_PASSPHRASE: '' }), '');
});
