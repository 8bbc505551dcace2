// Files that cannot be opened for lack of disk space: they are not damaged, and are opened once there is space.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cutsOf, docTexts, loaded } from '../../../../test/support/cuts.ts';
import { fillDisk } from '../../../../test/support/fill-disk.ts';
import { needs } from '../../../../test/support/needs.ts';
import { workerDiskEngine } from '../hosts/worker-engine.ts';
import { sqliteEngine } from './sqlite-engine.ts';

const files = { bucketUuid: 'a'.repeat(32), incarnation: 1, fileCount: 2 };
const value = 'v'.repeat(1_000_000);

/** A file system of 16 MiB. */
function onSmallDisk() {
  const base = mkdtempSync(join(tmpdir(), 'divan-no-space-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'divan-test', base]);
  const ballast = join(base, 'ballast');
  return {
    base,
    fill: () => fillDisk(ballast),
    free: () => rmSync(ballast),
    freeBytes: () => statfsSync(base).bavail * statfsSync(base).bsize,
    [Symbol.dispose]: () => {
      execFileSync('umount', ['--lazy', base]);
      rmSync(base, { recursive: true });
    },
  };
}

for (const opensFirst of [true, false])
  test(`a killed bucket opens ${opensFirst ? 'the rest of' : 'all'} its files once the disk has space`, {
    skip: needs('mount'),
  }, async () => {
    using disk = onSmallDisk();
    const [origin, folder] = [join(disk.base, 'origin'), join(disk.base, 'killed')];
    const before = sqliteEngine();
    await before.open({ ...files, folder: origin });
    if (!opensFirst) await before.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', value, seqno: 1 }]));
    await before.commit(files.bucketUuid, 1, cutsOf([{ vb: 1, key: 'b', value, seqno: 1 }]));
    cpSync(origin, folder, { recursive: true });
    await before.stop();
    disk.fill();
    rmSync(origin, { recursive: true });
    fillAllBut(300 * 1024, disk.base);
    const engine = sqliteEngine();
    const place = { ...files, folder };
    const { noSpace, opened, damaged } = await engine.open(place);
    assert.match(noSpace?.reason ?? '', /KiB are needed, \d+ KiB are free/);
    assert.equal(noSpace?.path, join(folder, `data-${opensFirst ? 1 : 0}.1.db`));
    assert.deepEqual([opened.length, damaged], [opensFirst ? 1 : 0, []]);
    assert.ok(disk.freeBytes() > 100 * 1024, 'the attempt took the space that was left');
    assert.equal((await engine.open(place)).noSpace?.path, noSpace.path);
    disk.free();
    const whole = await engine.open(place);
    assert.equal(whole.noSpace, undefined);
    assert.deepEqual(
      whole.opened.map(({ file }) => file),
      [0, 1],
    );
    assert.deepEqual(docTexts(await loaded(engine, place, 1)), [`1 1 b=${value}`]);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'c', value: 'w', seqno: 2 }]));
    await assert.rejects(engine.open(place), /open already/);
    await engine.stop();
  });

test('a new bucket makes its files once the disk has space, also in another thread', {
  skip: needs('mount'),
}, async () => {
  using disk = onSmallDisk();
  disk.fill();
  const engine = workerDiskEngine();
  const place = { ...files, folder: join(disk.base, 'b') };
  const { noSpace, damaged } = await engine.open(place);
  assert.deepEqual([noSpace?.path, damaged], [place.folder, []]);
  disk.free();
  assert.equal((await engine.open(place)).opened.length, 2);
  await engine.close(files.bucketUuid);
  await engine.stop();
});

test('a bucket that waits for space can be removed, and flushed once there is space', {
  skip: needs('mount'),
}, async () => {
  using disk = onSmallDisk();
  const engine = sqliteEngine();
  const place = { ...files, folder: join(disk.base, 'b') };
  disk.fill();
  await engine.open(place);
  await engine.destroy(place);
  await engine.open(place);
  disk.free();
  await engine.reset(files.bucketUuid, 2);
  await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'c', value: 'w', seqno: 2 }]));
  await engine.stop();
});

function fillAllBut(bytes: number, base: string): void {
  const { bavail, bsize } = statfsSync(base);
  execFileSync('fallocate', ['-l', String(bavail * bsize - bytes), join(base, 'rest')]);
}
