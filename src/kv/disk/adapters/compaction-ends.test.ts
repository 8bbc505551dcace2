// How a compaction of a SQLite file ends: cancelled between two pages, without room, when room runs out, or while commits outrun it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cutsOf, loaded } from '../../../../test/support/cuts.ts';
import { needs } from '../../../../test/support/needs.ts';
import { SmallDisk } from '../../../../test/support/small-disk.ts';
import type { BucketFiles, DiskEngine } from '../../data/disk-engine.ts';
import { makeNextGeneration } from './bucket-folder.ts';
import { sqliteEngine } from './sqlite-engine.ts';
import { SqliteLane } from './sqlite-lane.ts';

const keepTombstones = { purgeBeforeSeconds: 0 };
const oneFile = { bucketUuid: 'a'.repeat(32), incarnation: 1, fileCount: 1 };

const namesIn = ({ folder }: BucketFiles): string[] => readdirSync(folder).sort();

async function filled(
  folder: string,
  documents: number,
): Promise<{ engine: DiskEngine; files: BucketFiles }> {
  const files = { ...oneFile, folder };
  const engine = sqliteEngine();
  await engine.open(files);
  for (let from = 0; from < documents; from += 1000) {
    const docs = Array.from({ length: 1000 }, (_, i) => ({
      vb: 4 * (i % 2),
      key: `key ${from + i}`,
      value: 'v'.repeat(1000),
      seqno: from + i + 1,
    }));
    await engine.commit(files.bucketUuid, 0, cutsOf(docs));
  }
  return { engine, files };
}

/** The old file returns the same rows as before and takes commits, no other file is left, and a later compaction succeeds. */
async function checkAsBefore(engine: DiskEngine, files: BucketFiles, names: string[]): Promise<void> {
  assert.deepEqual(namesIn(files), names);
  const { length } = await loaded(engine, files);
  const seqno = 1_000_000;
  await engine.commit(files.bucketUuid, 0, cutsOf([{ vb: 4, key: 'after', value: 'v', seqno }]));
  await engine.compact(files.bucketUuid, 0, keepTombstones);
  assert.equal((await loaded(engine, files)).length, length + 1);
  const [database = ''] = namesIn(files);
  assert.equal(database, 'data-0.2.db', 'the new generation replaces the old one');
  await engine.close(files.bucketUuid);
  assert.deepEqual(namesIn(files), [database, `${database}-commits`, 'files.json']);
}

test('a compaction cancelled after any page leaves the old file unchanged and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-ends-'));
  try {
    const { engine, files } = await filled(join(folder, 'b'), 4000);
    const names = namesIn(files);
    const before = await loaded(engine, files);
    for (const stopAfter of [1, 2, 3]) {
      const cancellation = new AbortController();
      let pages = 0;
      const progress = (): void => {
        if (++pages === stopAfter) cancellation.abort(new Error('enough'));
      };
      const options = { ...keepTombstones, progress, signal: cancellation.signal };
      await assert.rejects(engine.compact(files.bucketUuid, 0, options), /enough/);
      assert.equal(pages, stopAfter);
      assert.deepEqual(namesIn(files), names);
      assert.deepEqual(await loaded(engine, files), before);
    }
    await checkAsBefore(engine, files, names);
    await engine.stop();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a compaction does not begin without room for the copy, and ends when space runs out', {
  skip: needs('mount'),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-room-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128m', 'divan-test', folder]);
  const ballast = join(folder, 'ballast');
  try {
    const { engine, files } = await filled(join(folder, 'b'), 6000);
    const names = namesIn(files);
    fillUp(ballast, 60 << 20);
    const compact = (progress = (): void => {}) =>
      engine.compact(files.bucketUuid, 0, { ...keepTombstones, progress });
    await assert.rejects(compact(), /needs \d+ MiB of free disk space, \d+ MiB are free/);
    assert.deepEqual(namesIn(files), names);
    rmSync(ballast);
    let pages = 0;
    await assert.rejects(
      compact(() => {
        if (++pages === 1) fillUp(ballast, Infinity);
      }),
      /full/,
    );
    rmSync(ballast);
    await checkAsBefore(engine, files, names);
    await engine.stop();
  } finally {
    execFileSync('umount', ['--lazy', folder]);
    rmSync(folder, { recursive: true });
  }
});

test('a compaction that copies more slowly than commits write reports that, and ends although commits continue', () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-outrun-'));
  let now = 0;
  // Each page seems to take long, so that pages stay smaller than commits.
  const lane = new SqliteLane({ monotonicMs: () => (now += 100) });
  try {
    lane.open(lane.prepare({ ...oneFile, folder: join(folder, 'b') }));
    let seqno = 0;
    const commit = (count: number): void => {
      const docs = Array.from({ length: count }, () => ({
        key: `key ${seqno % 2500}`,
        value: 'v',
        seqno: ++seqno,
      }));
      lane.commit(oneFile.bucketUuid, 0, cutsOf(docs), false);
    };
    commit(2500);
    const plan = lane.planCopy(oneFile.bucketUuid, 0);
    lane.beginCopy(plan, 0);
    const seen: boolean[] = [];
    for (let isFinished = false; !isFinished && seen.length < 500; commit(520)) {
      const step = lane.copyPage(plan);
      seen.push(step.isOutrun);
      isFinished = step.isFinished;
    }
    assert.ok(seen.length < 500, 'the copy ends');
    assert.deepEqual([seen[0], seen.at(-1)], [false, true]);
    lane.switchFile(plan, lane.suspendCopy(plan));
    assert.ok(namesIn({ ...oneFile, folder: join(folder, 'b') }).includes('data-0.2.db'));
  } finally {
    lane.stop();
    rmSync(folder, { recursive: true });
  }
});

test('a copy that cannot begin leaves no connection open, and no file where the disk is full', {
  skip: needs('mount'),
}, (t) => {
  const disk = new SmallDisk(t, '1m');
  const files = { ...oneFile, folder: join(disk.folder, 'b') };
  const lane = new SqliteLane({ monotonicMs: () => 0 });
  t.after(() => lane.stop());
  lane.open(lane.prepare(files));
  const target = makeNextGeneration({
    ...oneFile,
    path: join(files.folder, 'data-0.1.db'),
    file: 0,
    generation: 1,
  });
  const plan = { sourcePath: join(disk.folder, 'absent', 'data-0.1.db'), target };
  const open = readdirSync('/proc/self/fd').length;
  for (let round = 0; round < 3; round++) assert.throws(() => lane.beginCopy(plan, 0), /unable to open/);
  assert.equal(readdirSync('/proc/self/fd').length, open);
  lane.removeCopy(plan);
  const names = namesIn(files);
  disk.fill();
  assert.throws(
    () => makeNextGeneration({ ...target, path: join(files.folder, 'data-0.1.db'), generation: 1 }),
    /full/,
  );
  assert.deepEqual(namesIn(files), names);
});

function fillUp(path: string, limit: number): void {
  const descriptor = openSync(path, 'w');
  try {
    let written = 0;
    for (let bytes = 1 << 20; bytes >= 4096 && written < limit; ) {
      try {
        const count = writeSync(descriptor, Buffer.alloc(bytes));
        written += count;
        if (count < bytes) bytes >>= 1;
      } catch {
        bytes >>= 1;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}
