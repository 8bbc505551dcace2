import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { IndexFolder } from './index-folder.adapter.ts';

test('the last index of a bucket leaves no folder behind', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-index-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = new IndexFolder(folder, silentLog);
  const opened = ['1', '2'].map((indexId) => {
    const definition = { bucketUuid: 'b0', collectionId: 8, isPrimary: false, fingerprint: 'one' };
    return { indexId, file: store.open({ ...definition, indexId }) };
  });
  const foldersLeft = opened.map(({ indexId, file }) => {
    file.close();
    store.remove('b0', indexId);
    return readdirSync(folder);
  });
  assert.deepEqual(foldersLeft, [['b0'], []]);
});
