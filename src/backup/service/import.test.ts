import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { addBackup } from '../../../test/support/an-archive.ts';
import { BackupHarness } from '../../../test/support/backup-harness.ts';

test('a repository that the service has already is not imported, even if the path of its archive ends with a slash', async () => {
  using harness = new BackupHarness('2026-11-23T10:00:00Z');
  await harness.begin([]);
  const { repositories } = harness.service;
  const { archive, repo } = repositories.get('active', 'travel');
  addBackup(join(archive, repo), [{ key: 'k' }]);
  const importAs = (path: string) =>
    repositories.import(Buffer.from(JSON.stringify({ id: 'copy', archive: path, repo })));
  for (const path of [archive, `${archive}/`])
    await assert.rejects(importAs(path), /invalid archive location/, path);
  assert.deepEqual(repositories.list('imported'), []);
  await harness.end();
});
