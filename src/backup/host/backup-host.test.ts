// The thread of the service: it starts with the first job and ends five minutes after the last, on a clock that the test advances.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { addBackup } from '../../../test/support/an-archive.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { BackupHost } from './backup-host.ts';

const minuteMs = 60_000;
const { signal } = new AbortController();
const folder = mkdtempSync(join(tmpdir(), 'divan-host-'));

before(() => void addBackup(folder, [{ key: 'k' }]));
after(() => rmSync(folder, { recursive: true }));

it('has no thread before its first job, and none from five minutes after the last one on', async () => {
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

it('rejects a job with its reason, and goes on with the next', async () => {
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
