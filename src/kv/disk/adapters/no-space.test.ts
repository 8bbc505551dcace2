// Files that cannot be opened for lack of disk space: they are not damaged, and are opened once there is space.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cutsOf, docTexts, loaded } from '../../../../test/support/cuts.ts';
import { needs } from '../../../../test/support/needs.ts';
import { SmallDisk } from '../../../../test/support/small-disk.ts';
import { workerDiskEngine } from '../hosts/worker-engine.ts';
import { sqliteEngine } from './sqlite-engine.ts';

const files = { bucketUuid: 'a'.repeat(32), incarnation: 1, fileCount: 2 };
const value = 'v'.repeat(1_000_000);

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

for (const opensFirst of [true, false])
  test(`a killed bucket opens ${opensFirst ? 'the rest of' : 'all'} its files once the disk has space`, {
    skip: needs('mount'),
  }, async (t) => {
    const disk = new SmallDisk(t, '16m');
    const [origin, folder] = [join(disk.folder, 'origin'), join(disk.folder, 'killed')];
    const before = sqliteEngine();
    await before.open({ ...files, folder: origin });
    // A file without a commit in its write-ahead log opens: it need not grow.
    if (!opensFirst) await before.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', value, seqno: 1 }]));
    await before.commit(files.bucketUuid, 1, cutsOf([{ vb: 1, key: 'b', value, seqno: 1 }]));
    cpSync(origin, folder, { recursive: true });
    await before.stop();
    disk.fill();
    rmSync(origin, { recursive: true });
    fillAllBut(300 * 1024, disk.folder);
    const engine = sqliteEngine();
    const place = { ...files, folder };
    const { noSpace, opened, damaged } = await engine.open(place);
    assert.match(noSpace?.reason ?? '', /KiB are needed, \d+ KiB are free/);
    assert.equal(noSpace?.path, join(folder, `data-${opensFirst ? 1 : 0}.1.db`));
    assert.deepEqual([opened.length, damaged], [opensFirst ? 1 : 0, []]);
    assert.ok(freeBytes(disk.folder) > 100 * 1024, 'the attempt took the space that was left');
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
}, async (t) => {
  const disk = new SmallDisk(t, '16m');
  disk.fill();
  const engine = workerDiskEngine();
  const place = { ...files, folder: join(disk.folder, 'b') };
  const { noSpace, damaged } = await engine.open(place);
  assert.deepEqual([noSpace?.path, damaged], [place.folder, []]);
  disk.free();
  assert.equal((await engine.open(place)).opened.length, 2);
  await engine.close(files.bucketUuid);
  await engine.stop();
});

test('a bucket that waits for space can be removed, and flushed once there is space', {
  skip: needs('mount'),
}, async (t) => {
  const disk = new SmallDisk(t, '16m');
  const engine = sqliteEngine();
  const place = { ...files, folder: join(disk.folder, 'b') };
  disk.fill();
  await engine.open(place);
  await engine.destroy(place);
  await engine.open(place);
  disk.free();
  await engine.reset(files.bucketUuid, 2);
  await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'c', value: 'w', seqno: 2 }]));
  await engine.stop();
});

const fillAllBut = (bytes: number, folder: string) =>
  execFileSync('fallocate', ['-l', String(freeBytes(folder) - bytes), join(folder, 'rest')]);
