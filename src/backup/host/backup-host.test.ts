// The thread of the service: it starts with the first job and ends five minutes after the last, on a clock that the test advances.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { addBackup } from '../../../test/support/an-archive.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Repository } from '../archive/repository.adapter.ts';
import { BackupHost } from './backup-host.ts';
import { RepositoryInUseError } from './jobs.ts';
import { KnownCluster } from './known-cluster.ts';
import { runJob } from './run-job.adapter.ts';

const minuteMs = 60_000;
const { signal } = new AbortController();
const folder = mkdtempSync(join(tmpdir(), 'divan-host-'));

before(() => void addBackup(folder, [{ key: 'k' }]));
after(() => rmSync(folder, { recursive: true }));

it('the host has no thread before its first job, and none from five minutes after the last one on', async () => {
  const clock = new ManualClock(0);
  const host = new BackupHost({ clock, log: silentLog });
  const info = async () => (await host.run({ kind: 'info', folder }, signal)).backups.length;
  try {
    assert.equal(host.isRunning, false);
    assert.equal(await info(), 1);
    clock.advance(4 * minuteMs);
    assert.equal(host.isRunning, true);
    assert.equal(await info(), 1);
    clock.advance(5 * minuteMs - 1);
    assert.equal(host.isRunning, true);
    clock.advance(1);
    assert.equal(host.isRunning, false);
    assert.equal(await info(), 1);
    assert.equal(host.isRunning, true);
  } finally {
    await host.stop();
  }
  assert.equal(host.isRunning, false);
  await assert.rejects(info(), /the node stops/);
});

it('the host rejects a job with the reason of its failure, and runs the next job', async () => {
  const host = new BackupHost({ clock: new ManualClock(0), log: silentLog });
  try {
    await assert.rejects(host.run({ kind: 'info', folder: `${folder}/none` }, signal), /none/);
    await assert.rejects(
      host.run({ kind: 'removeBackup', folder, backup: 'none' }, signal),
      /has no backup "none"/,
    );
    await assert.rejects(host.run({ kind: 'info', folder }, AbortSignal.abort(new Error('over'))), /over/);
    assert.equal((await host.run({ kind: 'info', folder }, signal)).backups.length, 1);
  } finally {
    await host.stop();
  }
});

it('the error of a job says that it may work later if another process uses the repository', async () => {
  const host = new BackupHost({ clock: new ManualClock(0), log: silentLog });
  const command = Repository.lock(folder);
  try {
    const removal = { kind: 'removeBackup', folder, backup: 'none' } as const;
    await assert.rejects(host.run(removal, signal), RepositoryInUseError);
  } finally {
    command.release();
    await host.stop();
  }
});

it('a job that waits for the thread ends when it is cancelled, or the host stops', async () => {
  const host = new BackupHost({ clock: new ManualClock(0), log: silentLog });
  const cancelled = new AbortController();
  const first = host.run({ kind: 'info', folder }, cancelled.signal);
  cancelled.abort(new Error('cancelled'));
  await assert.rejects(first, /cancelled/);
  assert.equal((await host.run({ kind: 'info', folder }, signal)).backups.length, 1);
  await host.stop();
  const other = new BackupHost({ clock: new ManualClock(0), log: silentLog });
  const waiting = assert.rejects(other.run({ kind: 'info', folder }, signal), /the node stops/);
  await other.stop();
  await waiting;
});

it('a cancelled search for the targets of a restore ends, although the node does not answer', async () => {
  const silent = createServer((socket) => void socket.on('error', () => {}));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const cancelled = new AbortController();
  const { port } = silent.address() as AddressInfo;
  const names = { folder, buckets: [], map: [], replaces: false, isForced: false, createsBuckets: false };
  const job = {
    kind: 'restoreTargets' as const,
    request: { ...names, withIndexes: false, resumes: false, awaitsDisk: false },
    node: { host: '127.0.0.1', port, username: 'u', password: 'p' },
  };
  const context = { signal: cancelled.signal, cluster: new KnownCluster(realClock), progress: () => {} };
  const running = assert.rejects(runJob(job, context), /^Error: cancelled$/);
  const [socket] = await once(silent, 'connection');
  cancelled.abort(new Error('cancelled'));
  await running;
  socket.destroy();
  silent.close();
});

describe('a job that examines a document', () => {
  const other = mkdtempSync(join(tmpdir(), 'divan-host-examine-'));
  after(() => rmSync(other, { recursive: true }));
  const examined = (): Promise<unknown> =>
    runJob(
      {
        kind: 'examine',
        folder: other,
        key: { bucket: 'b', scope: '_default', collection: '_default', key: 'k' },
      },
      { signal, cluster: new KnownCluster(realClock), progress: () => {} },
    );

  it('is done while a backup has locked the folder, and names the writer if that has removed what it reads', async () => {
    const { name } = addBackup(other, [{ key: 'k' }]);
    const lock = Repository.lock(other);
    try {
      assert.equal(((await examined()) as unknown[]).length, 1);
      rmSync(join(other, name, '0.data'));
      await assert.rejects(
        examined(),
        /is in use: process \d+ writes there; try again when it has ended \(.*0\.data/,
      );
    } finally {
      lock.release();
    }
  });

  it('takes the shared lock if no task writes to the folder, and releases the lock when a file is damaged', async (t) => {
    const share = t.mock.method(Repository, 'share');
    addBackup(other, [{ key: 'k' }]);
    await assert.rejects(examined(), /0\.data/);
    assert.equal(share.mock.callCount(), 1);
    Repository.lock(other).release();
  });
});
