// Jobs that read an archive without its lock, while a task of another process changes it.
import assert from 'node:assert/strict';
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { addBackup } from '../../../test/support/an-archive.ts';
import { Repository } from '../archive/repository.adapter.ts';
import type { Job } from './jobs.ts';
import { KnownCluster } from './known-cluster.ts';
import type { RepositoryInfo } from './repository-info.ts';
import { runJob } from './run-job.adapter.ts';

const context = {
  signal: new AbortController().signal,
  cluster: new KnownCluster(realClock),
  progress: () => {},
};

/** Three backups, none of which continues another. */
function anArchive() {
  const folder = mkdtempSync(join(tmpdir(), 'divan-changing-'));
  const names = [1, 2, 3].map(
    (day) => addBackup(folder, [{ key: 'k' }], { isFull: true, startedMs: Date.UTC(2026, 0, day) }).name,
  );
  return { folder, names, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

/** Removes a backup after the job has listed it, before it reads its manifest. */
function removeMeanwhile(t: TestContext, name: string): void {
  let isRemoved = false;
  const read = Repository.prototype.manifest;
  t.mock.method(Repository.prototype, 'manifest', function (this: Repository, wanted: string) {
    if (!isRemoved) this.remove(name);
    isRemoved = true;
    return read.call(this, wanted);
  });
}

const checking = (folder: string): Job => ({ kind: 'check', folder });

describe('a job that reads an archive without its lock', () => {
  it('shows the backups that are left if one is removed while they are read', async (t) => {
    using archive = anArchive();
    const [first, ...others] = archive.names;
    const share = t.mock.method(Repository, 'share');
    removeMeanwhile(t, first as string);
    const { backups } = (await runJob({ kind: 'info', folder: archive.folder }, context)) as RepositoryInfo;
    assert.deepEqual(
      backups.map(({ date }) => date),
      others,
    );
    assert.equal(share.mock.callCount(), 0, 'a task that begins meanwhile would fail');
  });

  it('lists the backups that are left where one is removed while they are listed', async (t) => {
    using archive = anArchive();
    const [first, ...others] = archive.names;
    const { lstatSync } = fs;
    const removing = t.mock.method(fs, 'lstatSync', (path: string, options?: fs.StatSyncOptions) => {
      if (path.endsWith(first as string)) rmSync(path, { recursive: true, force: true });
      return lstatSync(path, options);
    });
    syncBuiltinESMExports();
    t.after(() => {
      removing.mock.restore();
      syncBuiltinESMExports();
    });
    const { backups } = (await runJob({ kind: 'info', folder: archive.folder }, context)) as RepositoryInfo;
    assert.deepEqual(
      backups.map(({ date }) => date),
      others,
    );
  });

  it('checks the newest backup that is left', async (t) => {
    using archive = anArchive();
    removeMeanwhile(t, archive.names[2] as string);
    assert.equal(await runJob(checking(archive.folder), context), null);
  });

  it('finds the targets of a restore in the newest backup that is left', async (t) => {
    using archive = anArchive();
    removeMeanwhile(t, archive.names[2] as string);
    const names = { buckets: [], map: [], replaces: false, isForced: false, createsBuckets: false };
    const request = {
      ...names,
      folder: archive.folder,
      withIndexes: false,
      resumes: false,
      awaitsDisk: false,
    };
    const nowhere = { host: '127.0.0.1', port: 1, username: 'u', password: 'p' };
    await assert.rejects(runJob({ kind: 'restoreTargets', request, node: nowhere }, context), /ECONNREFUSED/);
  });

  it('reports damage, but names the task instead if one writes to the archive', async () => {
    using archive = anArchive();
    const { folder, names } = archive;
    writeFileSync(join(folder, names[2] as string, 'manifest.json'), '{}');
    await assert.rejects(runJob(checking(folder), context), /manifest\.json/);
    const lock = Repository.lock(folder);
    try {
      assert.equal(await runJob(checking(folder), context), null, 'the task may have changed the manifest');
      await assert.rejects(
        runJob({ kind: 'info', folder }, context),
        /is in use: process \d+ writes there; try again when it has ended \(.*manifest\.json/,
      );
    } finally {
      lock.release();
    }
  });
});
