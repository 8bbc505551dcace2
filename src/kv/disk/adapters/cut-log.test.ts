// Commits that clients wait for are in the log of cuts until they are written into rows: none of them is lost, whatever ends the process
// between two writes, and a damaged log is refused with the reason.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { cutsOf, type Doc, docsOf, docTexts, loaded } from '../../../../test/support/cuts.ts';
import { needs } from '../../../../test/support/needs.ts';
import { aSeed } from '../../../../test/support/random.ts';
import { SmallDisk } from '../../../../test/support/small-disk.ts';
import { type BucketFiles, type DiskEngine, DiskFullError } from '../../data/disk-engine.ts';
import { sqliteEngine } from './sqlite-engine.ts';

const frameHeaderBytes = 16;
const dataFile = 'data-0.1.db';
const logFile = `${dataFile}-cuts`;

interface Opened extends AsyncDisposable {
  readonly engine: DiskEngine;
  readonly files: BucketFiles;
  readonly base: string;
  urgent(...docs: Doc[]): Promise<number>;
}

const filesIn = (base: string): BucketFiles => ({
  folder: join(base, 'bucket'),
  bucketUuid: 'c'.repeat(32),
  incarnation: 1,
  fileCount: 1,
});

async function anOpenBucket(): Promise<Opened> {
  const base = await mkdtemp(join(tmpdir(), 'divan-log-'));
  const files = filesIn(base);
  const engine = sqliteEngine();
  await engine.open(files);
  return {
    engine,
    files,
    base,
    urgent: (...docs) => engine.commit(files.bucketUuid, 0, cutsOf(docs), true),
    [Symbol.asyncDispose]: async () => {
      await engine.stop();
      await rm(base, { recursive: true });
    },
  };
}

/** What the next process finds in a copy of the present folder after `harm` has damaged it; the reason if the copy is refused. */
async function afterCrash(
  { files, base }: Opened,
  harm = (_: string): void => {},
): Promise<string[] | string> {
  const copy = { ...files, folder: join(base, 'copy') };
  cpSync(files.folder, copy.folder, { recursive: true });
  rmSync(join(copy.folder, `${dataFile}-shm`), { force: true });
  harm(copy.folder);
  const engine = sqliteEngine();
  try {
    const { damaged } = await engine.open(copy);
    return damaged[0]?.reason ?? docTexts(await loaded(engine, copy));
  } finally {
    await engine.stop();
    rmSync(copy.folder, { recursive: true });
  }
}

const doc = (seqno: number, key = `k${seqno % 7}`): Doc => ({
  vb: 4 * (seqno % 2),
  key,
  value: `v${seqno}`,
  seqno,
});

/** The newest versions after the first `count` changes, in the form in which `loaded` returns documents. */
function newest(count: number): string[] {
  const byKey = new Map(
    Array.from({ length: count }, (_, i) => doc(i + 1)).map((entry) => [`${entry.vb} ${entry.key}`, entry]),
  );
  return docTexts(
    [...byKey.values()].sort((a, b) => (a.vb ?? 0) - (b.vb ?? 0) || a.key.localeCompare(b.key)),
  );
}

const rowsIn = (folder: string): number => {
  const outside = new DatabaseSync(join(folder, dataFile), { readOnly: true });
  try {
    return Number(Object.values(outside.prepare('select count(*) from doc').get() ?? {})[0]);
  } finally {
    outside.close();
  }
};

const logOf = (folder: string): Buffer => readFileSync(join(folder, logFile));

/** The end of each frame in the log, from its beginning. */
function frameEnds(log: Buffer, count: number): number[] {
  const ends: number[] = [];
  for (let i = 0, at = 0; i < count; i++) ends.push((at += frameHeaderBytes + log.readUInt32BE(at)));
  return ends;
}

test('a crash after any commit, urgent or not, keeps exactly the commits so far', async (t) => {
  await using opened = await anOpenBucket();
  const random = aSeed(t);
  for (let seqno = 1; seqno <= 40; seqno++) {
    const { engine, files, urgent } = opened;
    if (random(4) > 0) await urgent(doc(seqno));
    else await engine.commit(files.bucketUuid, 0, cutsOf([doc(seqno)]));
    if (random(6) === 0) await engine.fetchItems(files.bucketUuid, 0, [{ vb: 0, key: Buffer.from('k0') }]);
    assert.deepEqual(await afterCrash(opened), newest(seqno), `after ${seqno}`);
  }
});

test('a crash within any write of the log keeps all commits before it', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, urgent } = opened;
  // The log is written from its beginning again, over frames whose commits are rows already.
  for (let seqno = 1; seqno <= 6; seqno++) await urgent(doc(seqno));
  await engine.commit(files.bucketUuid, 0, cutsOf([doc(7)]));
  await urgent(doc(8));
  const before = logOf(files.folder);
  const count = readFileSync(join(files.folder, `${dataFile}-commits`));
  await urgent(doc(9));
  const after = logOf(files.folder);
  const [start = 0, end = 0] = frameEnds(after, 2);
  for (let written = start; written <= end; written++) {
    const found = await afterCrash(opened, (folder) => {
      const torn = Buffer.concat([after.subarray(0, written), before.subarray(written)]);
      writeFileSync(join(folder, logFile), torn);
      // The count follows the sync of the whole frame.
      writeFileSync(join(folder, `${dataFile}-commits`), count);
    });
    const isWhole = after.equals(Buffer.concat([after.subarray(0, written), before.subarray(written)]));
    assert.deepEqual(found, newest(isWhole ? 9 : 8), `${written - start} of ${end - start} bytes`);
  }
});

test('a flipped, truncated or missing log is refused when it had acknowledged commits, and is kept', async (t) => {
  await using opened = await anOpenBucket();
  const random = aSeed(t);
  for (let seqno = 1; seqno <= 8; seqno++) await opened.urgent(doc(seqno));
  const log = logOf(opened.files.folder);
  const end = frameEnds(log, 8).at(-1) as number;
  for (let i = 0; i < 60; i++) {
    const at = i < 20 ? i : random(end);
    const harmed = Buffer.from(log);
    if (i % 2 === 0) harmed[at] = (harmed[at] as number) ^ (1 << random(8));
    const bytes = i % 2 === 0 ? harmed : log.subarray(0, at);
    let place = '';
    const found = await afterCrash(opened, (folder) => {
      place = join(folder, logFile);
      writeFileSync(place, bytes);
    });
    assert.match(String(found), /commits are missing|are missing: its log of cuts begins/, `${i} at ${at}`);
  }
  const missing = await afterCrash(opened, (folder) => rmSync(join(folder, logFile)));
  assert.match(String(missing), /the last 8 of its 8 commits are missing/);
});

test('frames whose predecessors are missing are refused, also without a count of commits', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, urgent } = opened;
  const older = await mkdtemp(join(tmpdir(), 'divan-log-older-'));
  try {
    await urgent(doc(1));
    await loaded(engine, files);
    cpSync(files.folder, older, { recursive: true });
    await engine.commit(files.bucketUuid, 0, cutsOf([doc(2)]));
    await urgent(doc(3));
    const found = await afterCrash(opened, (folder) => {
      for (const name of [dataFile, `${dataFile}-wal`]) cpSync(join(older, name), join(folder, name));
      rmSync(join(folder, `${dataFile}-commits`));
    });
    assert.match(String(found), /its log of cuts begins after them/);
  } finally {
    rmSync(older, { recursive: true });
  }
});

test('the log of another generation of the file changes nothing', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, urgent } = opened;
  for (let seqno = 1; seqno <= 5; seqno++) await urgent(doc(seqno));
  const log = logOf(files.folder);
  await engine.compact(files.bucketUuid, 0, { purgeBeforeSeconds: 0 });
  assert.deepEqual(
    readdirSync(files.folder).filter((name) => name.startsWith(dataFile)),
    [],
  );
  writeFileSync(join(files.folder, 'data-0.2.db-cuts'), log);
  assert.deepEqual(await afterCrash(opened), newest(5));
});

test('urgent commits are written into rows many at a time, at the latest by a stop, which leaves no log', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, urgent } = opened;
  await urgent(doc(1));
  assert.equal(rowsIn(files.folder), 0);
  const large = 'x'.repeat(20_000);
  let seqno = 1;
  for (; rowsIn(files.folder) === 0; seqno++) await urgent({ ...doc(seqno + 1), value: large });
  assert.ok(seqno > 10, `the log had room for ${seqno} commits`);
  await urgent({ ...doc(seqno + 1), value: 'the last' });
  await engine.close(files.bucketUuid);
  assert.equal(existsSync(join(files.folder, logFile)), false);
  const { opened: found } = await engine.open(files);
  assert.deepEqual(
    found.map(({ clean }) => clean),
    [true],
  );
  assert.match(docTexts(await loaded(engine, files)).join(), /the last/);
});

test('after a read had to wait for the log, the next eight urgent commits become rows at once', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, urgent } = opened;
  await urgent(doc(1));
  await engine.fetchItems(files.bucketUuid, 0, []);
  const found: number[] = [];
  for (let seqno = 2; seqno <= 11; seqno++) {
    await urgent(doc(seqno, `k${seqno}`));
    found.push(rowsIn(files.folder));
  }
  assert.deepEqual(found, [2, 3, 4, 5, 6, 7, 8, 9, 9, 9]);
  assert.equal((await loaded(engine, files)).length, 11);
});

test('the commits of a log that is released become rows, its file is removed, and the next urgent commit creates another', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, urgent } = opened;
  await engine.endUrgent?.(files.bucketUuid, 0);
  for (let seqno = 1; seqno <= 3; seqno++) await urgent(doc(seqno));
  assert.equal(rowsIn(files.folder), 0);
  await engine.endUrgent?.(files.bucketUuid, 0);
  assert.equal(rowsIn(files.folder), 3);
  assert.equal(existsSync(join(files.folder, logFile)), false);
  assert.deepEqual(await afterCrash(opened), newest(3));
  await urgent(doc(4));
  assert.equal(rowsIn(files.folder), 3);
  assert.equal(existsSync(join(files.folder, logFile)), true);
  assert.deepEqual(await afterCrash(opened), newest(4));
});

test('a file that is removed while it is open takes no urgent commits', async () => {
  await using opened = await anOpenBucket();
  const { files, urgent } = opened;
  await urgent(doc(1));
  renameSync(join(files.folder, dataFile), join(files.folder, `${dataFile}.away`));
  await assert.rejects(urgent(doc(2)), /was removed or replaced while it was open/);
  await assert.rejects(urgent(doc(3)), /takes no more commits/);
});

test('reads are refused, not answered with older rows, once a failure left commits in the log only', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, urgent } = opened;
  await engine.commit(files.bucketUuid, 0, cutsOf([doc(1)]));
  await urgent(doc(2));
  // The engine refuses the rows of this commit, in which two keys have one seqno.
  await assert.rejects(
    engine.commit(
      files.bucketUuid,
      0,
      cutsOf([
        { vb: 0, key: 'a', seqno: 9 },
        { vb: 0, key: 'b', seqno: 9 },
      ]),
    ),
  );
  await assert.rejects(
    engine.fetchItems(files.bucketUuid, 0, [{ vb: 0, key: Buffer.from('k2') }]),
    /in its log until the next start/,
  );
  assert.deepEqual(await afterCrash(opened), newest(2));
});

async function onSmallDisk(t: TestContext) {
  const disk = new SmallDisk(t, '2m');
  const engine = sqliteEngine();
  const files = filesIn(disk.folder);
  await engine.open(files);
  return {
    disk,
    engine,
    files,
    urgent: (seqno: number) => engine.commit(files.bucketUuid, 0, cutsOf([doc(seqno)]), true),
    [Symbol.asyncDispose]: () => engine.stop(),
  };
}

test('an urgent commit on a full disk loses nothing and can be retried', {
  skip: needs('mount'),
}, async (t) => {
  await using setup = await onSmallDisk(t);
  const { disk, engine, files, urgent } = setup;
  disk.fill();
  await assert.rejects(urgent(1), DiskFullError);
  disk.free();
  for (let seqno = 1; seqno <= 3; seqno++) await urgent(seqno);
  assert.deepEqual(docTexts(await loaded(engine, files)), newest(3));
});

test('an urgent commit becomes rows where the disk has space for them, but not for the log', {
  skip: needs('mount'),
}, async (t) => {
  await using setup = await onSmallDisk(t);
  const { disk, engine, files, urgent } = setup;
  disk.fill(300 * 1024);
  await urgent(1);
  assert.ok(!existsSync(join(files.folder, logFile)), 'a part of the log takes the space that was left');
  disk.free();
  await urgent(2);
  assert.deepEqual(docTexts(await loaded(engine, files)), newest(2));
});

test('a stop on a full disk completes, and the log has its commits for the next start', {
  skip: needs('mount'),
}, async (t) => {
  await using setup = await onSmallDisk(t);
  const { disk, engine, files, urgent } = setup;
  await urgent(1);
  disk.fill();
  for (let seqno = 2; seqno <= 5; seqno++) await urgent(seqno);
  await engine.close(files.bucketUuid);
  disk.free();
  const { opened } = await engine.open(files);
  assert.deepEqual(
    opened.map(({ clean }) => clean),
    [false],
  );
  assert.deepEqual(docTexts(await loaded(engine, files)), newest(5));
});

test('on a full disk reads find the commits of the log, which becomes rows once there is space', {
  skip: needs('mount'),
}, async (t) => {
  await using setup = await onSmallDisk(t);
  const { disk, engine, files, urgent } = setup;
  const { bucketUuid } = files;
  const large = 'L'.repeat(5000);
  await engine.commit(bucketUuid, 0, cutsOf([doc(1), doc(2)]));
  await urgent(3);
  disk.fill();
  await urgent(4);
  await engine.commit(bucketUuid, 0, cutsOf([{ vb: 4, key: 'k3', value: large, seqno: 5 }]), true);
  for (let round = 0; round < 2; round++) {
    const keys = ['k1', 'k3', 'k9'].map((key) => ({ vb: 4, key: Buffer.from(key) }));
    const { batch, damaged } = await engine.fetchItems(bucketUuid, 0, keys);
    assert.deepEqual(docTexts(docsOf(batch)), ['4 1 k1=v1', `4 5 k3=${large}`]);
    assert.deepEqual(damaged, []);
    const page = await engine.backfill(bucketUuid, 0, 4, 1);
    assert.deepEqual(docTexts(docsOf(page.batch)), [`4 5 k3=${large}`]);
    assert.deepEqual([page.toSeqno, page.endSeqno], [5, 5]);
    const request = { prefix: Buffer.from('k'), after: null, limit: 10 };
    const found = await engine.collectionKeys(bucketUuid, 0, request);
    assert.deepEqual(
      found.map(({ vb, key }) => `${vb} ${key.toString('latin1')}`),
      ['0 k2', '0 k4', '4 k1', '4 k3'],
    );
    assert.equal(rowsIn(files.folder), 2);
  }
  disk.free();
  await engine.fetchItems(bucketUuid, 0, []);
  assert.equal(rowsIn(files.folder), 4);
});
