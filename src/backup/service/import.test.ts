import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { addBackup } from '../../../test/support/an-archive.ts';
import { BackupPlanning } from '../../../test/support/backup-planning.ts';

test('a repository that the service has already is not imported, even if the path of its archive ends with a slash', async () => {
  using planning = new BackupPlanning('2026-11-23T10:00:00Z');
  await planning.begin([]);
  const { repositories } = planning.service;
  const { archive, repo } = repositories.get('active', 'travel');
  addBackup(join(archive, repo), [{ key: 'k' }]);
  const importAs = (path: string) =>
    repositories.import(Buffer.from(JSON.stringify({ id: 'copy', archive: path, repo })));
  for (const path of [archive, `${archive}/`])
    await assert.rejects(importAs(path), /invalid archive location/, path);
  assert.deepEqual(repositories.list('imported'), []);
  await planning.end();
});
