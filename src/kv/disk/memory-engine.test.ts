import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { cutsOf, docTexts, loaded } from '../../../test/support/cuts.ts';
import { MemoryDisk } from './memory-engine.ts';

const files = { folder: '/b', bucketUuid: 'a'.repeat(32), incarnation: 1, fileCount: 2 };
const commitOf = (key: string, seqno: number): Uint8Array => cutsOf([{ key, value: 'v', seqno }]);

/** A disk whose syncs wait for the gate. */
function aGatedDisk() {
  const gate = deferred<void>();
  return { gate, disk: new MemoryDisk({ sync: () => gate.promise }) };
}

test('a test can make the next commit fail; later commits of that file fail too, those of other files do not', async () => {
  const disk = new MemoryDisk();
  const engine = disk.engine();
  await engine.open(files);
  disk.failNextWrite('disk full');
  await assert.rejects(engine.commit(files.bucketUuid, 0, commitOf('a', 1)), /disk full/);
  await assert.rejects(engine.commit(files.bucketUuid, 0, commitOf('a', 1)), /no more commits: disk full/);
  await engine.commit(files.bucketUuid, 1, commitOf('b', 1));
});

test('a commit is acknowledged only once it is synced', async () => {
  const { gate, disk } = aGatedDisk();
  const engine = disk.engine();
  await engine.open(files);
  let acknowledged = false;
  const committing = engine.commit(files.bucketUuid, 0, commitOf('a', 1)).then(() => (acknowledged = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(acknowledged, false);
  gate.resolve();
  await committing;
  assert.deepEqual(docTexts(await loaded(engine, files)), ['0 1 a=v']);
});

for (const [fate, left] of [
  ['lost', []],
  ['kept', ['0 1 a=v']],
] as const) {
  test(`a commit that is not synced before a crash is not acknowledged and is ${fate}`, async () => {
    const { gate, disk } = aGatedDisk();
    const engine = disk.engine();
    await engine.open(files);
    const committing = engine.commit(files.bucketUuid, 0, commitOf('a', 1));
    await new Promise((resolve) => setImmediate(resolve));
    disk.crash(fate);
    gate.resolve();
    await assert.rejects(committing, /the disk crashed/);
    await assert.rejects(engine.commit(files.bucketUuid, 0, commitOf('b', 2)), /stopped/);
    const next = disk.engine();
    const { opened } = await next.open(files);
    assert.equal(opened[0]?.clean, false);
    assert.deepEqual(docTexts(await loaded(next, files)), left);
  });
}

test('a change that was requested before a crash is not made after it', async () => {
  const { gate, disk } = aGatedDisk();
  const engine = disk.engine();
  await engine.open(files);
  const first = engine.commit(files.bucketUuid, 0, commitOf('a', 1));
  await new Promise((resolve) => setImmediate(resolve));
  const drop = engine.drop(files.bucketUuid, 0, [0]);
  disk.crash('kept');
  const next = disk.engine();
  await next.open(files);
  gate.resolve();
  await assert.rejects(first, /the disk crashed/);
  await assert.rejects(drop, /stopped/);
  assert.deepEqual(docTexts(await loaded(next, files)), ['0 1 a=v']);
});

test('a bucket that was reset while the disk had no space to open it is on the disk', async () => {
  const disk = new MemoryDisk();
  disk.hasNoSpaceToOpen = true;
  const engine = disk.engine();
  await engine.open(files);
  await engine.reset(files.bucketUuid, 2);
  await engine.commit(files.bucketUuid, 0, commitOf('a', 1));
  await engine.close(files.bucketUuid);
  disk.hasNoSpaceToOpen = false;
  const next = disk.engine();
  await next.open({ ...files, incarnation: 2 });
  assert.deepEqual(docTexts(await loaded(next, files)), ['0 1 a=v']);
});
