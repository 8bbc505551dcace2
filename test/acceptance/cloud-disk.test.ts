// The cloud on a full disk: it reports the reason, deletes, starts, and recovers once there is space.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CloudProcess } from '../support/cloud-process.ts';
import { fillDisk } from '../support/fill-disk.ts';
import { needs } from '../support/needs.ts';
import { eventually } from '../support/node-process.ts';

/** The cloud reserves more than this of the disk for deletions. */
const reserveBytesMin = 4 << 20;

test('a cloud on a full disk refuses changes with the reason, but deletes and starts, and recovers once there is space', {
  skip: needs('mount'),
}, async () => {
  const disk = mkdtempSync(join(tmpdir(), 'divan-cloud-full-'));
  const dataDir = join(disk, 'cloud');
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'divan-test', disk]);
  const ballast = join(disk, 'ballast');
  // Not on the full disk: both starts must be able to write the ready file.
  const readyFile = join(tmpdir(), `divan-ready-${process.pid}`);
  // On the full disk: the cloud must continue although it cannot write its log.
  const log = join(disk, 'log');
  try {
    const ids: string[] = [];
    {
      await using cloud = await CloudProcess.start({ dataDir, logTo: log, readyFile });
      assert.equal(isOpenHere(log), false);
      for (let i = 0; i < 3; i++) ids.push((await createProject(cloud, `p${i}`)).body.id);
      await eventually(() => assert.ok(readFileSync(join(dataDir, 'reserve')).length > reserveBytesMin));
      fillDisk(ballast);
      await eventually(async () => {
        const refused = await createProject(cloud, 'more');
        assert.equal(refused.status, 500);
        assert.equal(refused.body.message, 'nothing was changed: the disk of the data folder is full');
      });
      const deleted = await cloud.request('DELETE', `/v2/projects/${ids.pop()}`);
      assert.equal(deleted.status, 204, JSON.stringify(deleted.body));
      assert.equal(await cloud.stop(), 0);
    }
    fillDisk(join(disk, 'more-ballast'));
    await using cloud = await CloudProcess.start({ dataDir, logTo: log, readyFile });
    for (const id of ids) assert.equal((await cloud.request('GET', `/v2/projects/${id}`)).status, 200);
    assert.equal((await cloud.request('DELETE', `/v2/projects/${ids.pop()}`)).status, 204);
    rmSync(ballast);
    await eventually(async () => assert.equal((await createProject(cloud, 'after')).status, 201));
    assert.equal(await cloud.stop(), 0);
  } finally {
    execFileSync('umount', ['--lazy', disk]);
    rmSync(disk, { recursive: true });
  }
});

/** Whether this process has the file open, which only the cloud should. */
const isOpenHere = (path: string): boolean =>
  readdirSync('/proc/self/fd').some((descriptor) => {
    const place = join('/proc/self/fd', descriptor);
    return existsSync(place) && readlinkSync(place) === path;
  });

const createProject = (cloud: CloudProcess, name: string) => cloud.request('POST', '/v2/projects', { name });
