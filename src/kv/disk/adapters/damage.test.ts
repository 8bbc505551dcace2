// A damaged file is refused with its name and the reason, or read as it was written; nothing else is ever read from it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { cutsOf, type Doc, docTexts, loaded } from '../../../../test/support/cuts.ts';
import { aSeed } from '../../../../test/support/random.ts';
import { type BucketFiles, DamagedFileError, type OpenedFile } from '../../data/disk-engine.ts';
import { sqliteEngine } from './sqlite-engine.ts';

const dataFile = 'data-0.1.db';
const walFile = `${dataFile}-wal`;
const countFile = `${dataFile}-commits`;

interface Folder extends AsyncDisposable {
  path: string;
}

async function aFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'divan-damage-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

const filesIn = (folder: string): BucketFiles => ({
  folder: join(folder, 'bucket'),
  bucketUuid: 'd'.repeat(32),
  incarnation: 1,
  fileCount: 1,
});

/** Ten commits that overwrite each other in part, with values in the row and in the table `big`. */
const commits: Doc[][] = Array.from({ length: 10 }, (_, round) =>
  Array.from({ length: 40 }, (_, i) => ({
    vb: (i + round * 11) % 4,
    key: `key ${i + round * 11}`,
    value: `${round}/${i} `.repeat(i % 10 === 9 ? 900 : 40),
    seqno: round * 40 + i + 1,
  })),
);

/** The documents after the first `count` commits, in the order of a load. */
function documentsAfter(count: number): string {
  const newest = new Map(
    commits
      .slice(0, count)
      .flat()
      .map((doc) => [doc.key, doc]),
  );
  const docs = [...newest.values()].sort(
    (a, b) => (a.vb ?? 0) - (b.vb ?? 0) || Buffer.from(a.key).compare(Buffer.from(b.key)),
  );
  return digest(docs);
}

const digest = (docs: readonly Doc[]): string =>
  docs.length === 0 ? 'none' : createHash('sha1').update(docTexts(docs).join('\n')).digest('hex');

type Image = Map<string, Buffer>;

/** The bytes of the bucket's folder after all commits: stopped cleanly, or as a crash leaves them. */
async function anImage(stop: 'clean' | 'crash', count = commits.length): Promise<Image> {
  await using folder = await aFolder();
  const files = filesIn(folder.path);
  const engine = sqliteEngine();
  await engine.open(files);
  for (const docs of commits.slice(0, count)) await engine.commit(files.bucketUuid, 0, cutsOf(docs));
  if (stop === 'clean') await engine.close(files.bucketUuid);
  const names = readdirSync(files.folder).filter((name) => !name.endsWith('-shm'));
  const image = new Map(names.map((name) => [name, readFileSync(join(files.folder, name))]));
  await engine.stop();
  return image;
}

type Outcome = { damage: string } | { opened: OpenedFile; docs: string };

/** Opens and loads the image, and checks that a refusal by the open neither removes nor creates the data file. */
async function tryImage(folder: Folder, image: Image, how: Partial<BucketFiles> = {}): Promise<Outcome> {
  const files = { ...filesIn(folder.path), ...how };
  writeImage(files.folder, image);
  const engine = sqliteEngine();
  try {
    const { opened, damaged } = await engine.open(files);
    if (opened[0] === undefined) {
      assert.equal(damaged[0]?.path.startsWith(files.folder), true);
      assert.equal(readdirSync(files.folder).includes(dataFile), image.has(dataFile));
      return { damage: damaged[0]?.reason ?? '' };
    }
    return { opened: opened[0], docs: digest(await loaded(engine, files)) };
  } catch (error) {
    if (!(error instanceof DamagedFileError)) throw error;
    return { damage: error.reason };
  } finally {
    await engine.stop();
  }
}

function writeImage(folder: string, image: Image): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, bytes] of image) writeFileSync(join(folder, name), bytes);
}

function without(image: Image, ...names: string[]): Image {
  return new Map([...image].filter(([name]) => !names.includes(name)));
}

const changed = (image: Image, name: string, bytes: Buffer): Image => new Map([...image, [name, bytes]]);

function flipped(bytes: Buffer, at: number, mask: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] as number) ^ mask;
  return copy;
}

const cleanImage = await anImage('clean');
const countedCrashImage = await anImage('crash');
/** As a power failure may leave it, or an older version: without the count of commits. */
const crashImage = without(countedCrashImage, countFile);
const undamaged = documentsAfter(commits.length);

test('the prepared files have the properties that the tests below need', async () => {
  await using folder = await aFolder();
  const clean = await tryImage(folder, cleanImage);
  assert.deepEqual([...cleanImage.keys()].sort(), [dataFile, countFile, 'files.json']);
  assert.ok('docs' in clean && clean.docs === undamaged && clean.opened.clean);
  const crash = await tryImage(folder, crashImage);
  assert.deepEqual([...crashImage.keys()].sort(), [dataFile, walFile, 'files.json']);
  assert.ok('docs' in crash && crash.docs === undamaged && !crash.opened.clean);
  const counted = await tryImage(folder, countedCrashImage);
  assert.ok('docs' in counted && counted.docs === undamaged && !counted.opened.clean);
});

test('a flipped byte anywhere in a data file is found, or changes nothing', async (t) => {
  await using folder = await aFolder();
  const random = aSeed(t);
  const bytes = cleanImage.get(dataFile) as Buffer;
  const expected = await tryImage(folder, cleanImage);
  assert.ok('docs' in expected);
  const flips = Number(process.env['DIVAN_TEST_FLIPS'] ?? 300);
  let found = 0;
  for (let i = 0; i < flips; i++) {
    const at = i < 110 ? i : random(bytes.length);
    const mask = 1 << random(8);
    const outcome = await tryImage(folder, changed(cleanImage, dataFile, flipped(bytes, at, mask)));
    if ('damage' in outcome) found++;
    else assert.deepEqual(withoutFlag(outcome), withoutFlag(expected), `byte ${at} xor ${mask}`);
  }
  t.diagnostic(`${found} of ${flips} flips refused`);
  assert.ok(found > flips / 10);
});

test('a data file truncated anywhere is refused', async () => {
  await using folder = await aFolder();
  const bytes = cleanImage.get(dataFile) as Buffer;
  const pages = bytes.length / 8192;
  const ends = [0, 1, 99, 100, 4096, 8191, 8192, 8193, ...[2, 3, pages / 2, pages - 1].map((n) => n * 8192)];
  for (const end of [...ends, bytes.length - 1]) {
    const outcome = await tryImage(folder, changed(cleanImage, dataFile, bytes.subarray(0, Math.floor(end))));
    assert.ok('damage' in outcome, `cut at ${end} of ${bytes.length}`);
  }
});

test('a WAL with a flipped byte after its header loses at most the last commit, or is refused and kept', async (t) => {
  await using folder = await aFolder();
  const random = aSeed(t);
  const bytes = crashImage.get(walFile) as Buffer;
  const states = new Map(commits.map((_, i) => [documentsAfter(i + 1), i + 1]));
  const counts = new Map<string, number>();
  for (let i = 0; i < 150; i++) {
    const at = 32 + (i < 30 ? i : random(bytes.length - 32));
    const outcome = await tryImage(folder, changed(crashImage, walFile, flipped(bytes, at, 1 << random(8))));
    const result = 'damage' in outcome ? 'refused' : String(states.get(outcome.docs));
    assert.ok(['refused', '9'].includes(result), `byte ${at}: ${result}`);
    if ('opened' in outcome) assert.equal(outcome.opened.clean, false);
    else assert.ok(readFileSync(join(filesIn(folder.path).folder, walFile)).length === bytes.length);
    counts.set(result, (counts.get(result) ?? 0) + 1);
  }
  t.diagnostic(JSON.stringify([...counts]));
  assert.equal(counts.size, 2);
});

test('a WAL with a flipped byte in its header gives the file as it was before the WAL', async () => {
  await using folder = await aFolder();
  const bytes = crashImage.get(walFile) as Buffer;
  for (let at = 0; at < 32; at++) {
    const outcome = await tryImage(folder, changed(crashImage, walFile, flipped(bytes, at, 1)));
    assert.ok('docs' in outcome && outcome.docs === 'none' && !outcome.opened.clean, `byte ${at}`);
  }
});

test('a truncated WAL gives a prefix of the commits, or is refused', async (t) => {
  await using folder = await aFolder();
  const bytes = crashImage.get(walFile) as Buffer;
  const states = new Set([...commits.map((_, i) => documentsAfter(i + 1)), 'none']);
  const steps = 40;
  const counts = new Set<string>();
  for (let i = 0; i < steps; i++) {
    const cut = bytes.subarray(0, Math.floor((bytes.length * i) / steps));
    const outcome = await tryImage(folder, changed(crashImage, walFile, cut));
    if ('damage' in outcome) continue;
    assert.ok(states.has(outcome.docs), `cut at ${cut.length}`);
    assert.equal(outcome.opened.clean, false);
    counts.add(outcome.docs);
  }
  t.diagnostic(`${counts.size} different states`);
  assert.ok(counts.size > 5);
});

test('a truncated or corrupted WAL is refused and kept when commits were counted', async (t) => {
  await using folder = await aFolder();
  const random = aSeed(t);
  const bytes = countedCrashImage.get(walFile) as Buffer;
  const harmed = [
    ...Array.from({ length: 30 }, () => bytes.subarray(0, random(bytes.length - 1))),
    ...Array.from({ length: 30 }, () => flipped(bytes, random(bytes.length), 1 << random(8))),
  ];
  for (const log of harmed) {
    const outcome = await tryImage(folder, changed(countedCrashImage, walFile, log));
    // A flip in the unused part of the header changes nothing.
    if ('docs' in outcome) assert.equal(outcome.docs, undamaged);
    else assert.deepEqual(readFileSync(join(filesIn(folder.path).folder, walFile)), log);
  }
  const cut = await tryImage(
    folder,
    changed(countedCrashImage, walFile, bytes.subarray(0, bytes.length - 1)),
  );
  assert.match('damage' in cut ? cut.damage : 'opened', /the last 1 of its 10 commits are missing/);
});

test('a missing WAL of a file that was in use is refused', async () => {
  await using folder = await aFolder();
  const uncounted = { damage: 'its write-ahead log is missing, though the file was in use' };
  assert.deepEqual(await tryImage(folder, without(crashImage, walFile)), uncounted);
  const counted = await tryImage(folder, without(countedCrashImage, walFile));
  assert.match('damage' in counted ? counted.damage : 'opened', /the last 10 of its 10 commits are missing/);
});

test('a WAL that another program checkpointed into the file is not reported missing', async () => {
  await using folder = await aFolder();
  const path = join(folder.path, dataFile);
  for (const [name, bytes] of countedCrashImage) writeFileSync(join(folder.path, name), bytes);
  const other = new DatabaseSync(path);
  other.exec('pragma wal_checkpoint(truncate)');
  other.close();
  const merged = changed(without(countedCrashImage, walFile), dataFile, readFileSync(path));
  const outcome = await tryImage(folder, merged);
  assert.ok('docs' in outcome && outcome.docs === undamaged);
});

test('an older copy of one file is refused, and so is an empty or missing folder of a bucket that had files', async () => {
  await using folder = await aFolder();
  const older = await anImage('clean', 9);
  const outcome = await tryImage(folder, changed(cleanImage, dataFile, older.get(dataFile) as Buffer));
  assert.match('damage' in outcome ? outcome.damage : 'opened', /an older copy of the file/);
  assert.deepEqual(await tryImage(folder, new Map(), { filesExisted: true }), {
    damage: 'its files are missing: the folder is empty',
  });
  rmSync(filesIn(folder.path).folder, { recursive: true });
  const engine = sqliteEngine();
  const { damaged } = await engine.open({ ...filesIn(folder.path), filesExisted: true });
  assert.equal(damaged[0]?.reason, 'its folder is missing');
  assert.deepEqual(readdirSync(folder.path), []);
  await engine.reset(filesIn(folder.path).bucketUuid, 2);
  assert.deepEqual((await engine.sizes(filesIn(folder.path).bucketUuid)).fileBytes > 0, true);
  await engine.stop();
});

test('a flipped bit anywhere in the list of files is refused, and removes no file', async () => {
  await using folder = await aFolder();
  const bytes = cleanImage.get('files.json') as Buffer;
  for (let at = 0; at < bytes.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const image = changed(cleanImage, 'files.json', flipped(bytes, at, 1 << bit));
      const outcome = await tryImage(folder, image);
      assert.ok('damage' in outcome, `byte ${at} bit ${bit}`);
      assert.ok(existsSync(join(filesIn(folder.path).folder, dataFile)), `byte ${at} bit ${bit}`);
    }
  }
});

test('a list of files of an older version, without a checksum, is read', async () => {
  await using folder = await aFolder();
  const image = changed(cleanImage, 'files.json', Buffer.from(JSON.stringify(layoutWithoutChecksum())));
  const outcome = await tryImage(folder, image);
  assert.ok('docs' in outcome && outcome.docs === undamaged);
});

test('a file of an older version, which did not count commits, opens after a stop and after a kill', async () => {
  await using folder = await aFolder();
  for (const image of [cleanImage, countedCrashImage]) {
    for (const [name, bytes] of image) writeFileSync(join(folder.path, name), bytes);
    const old = new DatabaseSync(join(folder.path, dataFile));
    old.exec("delete from file where k = 'commits'");
    old.close();
    const bytes = readFileSync(join(folder.path, dataFile));
    const outcome = await tryImage(folder, changed(without(image, walFile, countFile), dataFile, bytes));
    assert.ok('docs' in outcome && outcome.docs === undamaged);
  }
});

for (const [title, name, text, reason] of [
  ['a foreign file', dataFile, 'x'.repeat(9000), /not a SQLite file/],
  ['a list of files that is no JSON', 'files.json', '{"format":1', /not JSON/],
  ['an incomplete list of files', 'files.json', '{"format":1}', /incomplete/],
  ['a list of files of a newer version', 'files.json', '{"format":2}', /newer Divan/],
] as const) {
  test(`${title} is refused with the reason`, async () => {
    await using folder = await aFolder();
    const outcome = await tryImage(folder, changed(cleanImage, name, Buffer.from(text)));
    assert.match('damage' in outcome ? outcome.damage : 'opened', reason);
  });
}

test('a file of a newer version and one of another program are refused with the reason', async () => {
  await using folder = await aFolder();
  const bytes = cleanImage.get(dataFile) as Buffer;
  const newer = await tryImage(folder, changed(cleanImage, dataFile, flipped(bytes, 63, 1)));
  assert.deepEqual(newer, { damage: 'a newer Divan wrote it (format 3, this one reads up to 2)' });
  const foreign = await tryImage(folder, changed(cleanImage, dataFile, flipped(bytes, 70, 1)));
  assert.deepEqual(foreign, { damage: 'it is not a Divan data file' });
});

test('a missing file is refused and not created again', async () => {
  await using folder = await aFolder();
  assert.deepEqual(await tryImage(folder, without(cleanImage, dataFile)), { damage: 'it is missing' });
  const { damage } = (await tryImage(folder, without(cleanImage, 'files.json'))) as { damage: string };
  assert.match(damage, /files.json is missing/);
});

test('a damaged row, or a row on a damaged page, fails alone when it is fetched', async () => {
  await using folder = await aFolder();
  const key = Buffer.from('key 137');
  const harms: ((bytes: Buffer, at: number) => void)[] = [
    (bytes, at) => bytes.write('x', bytes.indexOf('9/38 ', at)),
    (bytes, at) => bytes.fill(0x55, at - (at % 8192), at - (at % 8192) + 8192),
  ];
  for (const [index, harm] of harms.entries()) {
    const bytes = Buffer.from(cleanImage.get(dataFile) as Buffer);
    for (let at = -1; (at = bytes.indexOf(key, at + 1)) >= 0; ) harm(bytes, at);
    const files = filesIn(folder.path);
    writeImage(files.folder, changed(cleanImage, dataFile, bytes));
    const engine = sqliteEngine();
    const { opened } = await engine.open(files);
    assert.equal(opened.length, 1);
    const { damaged } = await engine.fetchItems(files.bucketUuid, 0, [{ vb: 1, key }]);
    assert.deepEqual(damaged, [0], `harm ${index}`);
    await engine.stop();
  }
});

test('a start removes files of other generations that a crash left', async () => {
  await using folder = await aFolder();
  const stale = changed(
    changed(cleanImage, 'data-0.7.db', Buffer.from('x')),
    'data-0.7.db-wal',
    Buffer.from('x'),
  );
  const outcome = await tryImage(folder, stale);
  assert.ok('docs' in outcome && outcome.docs === undamaged);
  const names = readdirSync(filesIn(folder.path).folder);
  assert.deepEqual(names.sort(), [dataFile, countFile, 'files.json']);
});

test('a start completes the creation of the first files after a crash', async () => {
  await using folder = await aFolder();
  const layout = JSON.stringify({ ...layoutWithoutChecksum(), state: 'making' });
  const image: Image = new Map([
    ['files.json', Buffer.from(layout)],
    [dataFile, Buffer.from('half')],
  ]);
  const outcome = await tryImage(folder, image);
  assert.ok('docs' in outcome && outcome.docs === 'none' && outcome.opened.clean);
});

/** As older versions wrote it, without its checksum. */
function layoutWithoutChecksum(): Record<string, unknown> {
  const { crc: _, ...layout } = JSON.parse(String(cleanImage.get('files.json'))) as Record<string, unknown>;
  return layout;
}

/** Everything but the clean flag, which may be lost without damage. */
function withoutFlag(outcome: Outcome): unknown {
  return 'opened' in outcome ? { docs: outcome.docs, vbuckets: outcome.opened.vbuckets } : outcome;
}
