import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { FlatSample, Matcher } from '../sample.ts';
import { TooManySamplesError } from './blocks.ts';
import { FolderStoreFiles } from './files.adapter.ts';
import { Tier } from './tier.ts';

const hourMs = 3_600_000;
/** A record of a log begins with the length and the checksum of its payload. */
const recordHeaderBytes = 8;
/** The start of a span. */
const startMs = 1_700_006_400_000;
/** Later than all samples. */
const endMs = startMs * 2;
/** The interval of the samples. */
const stepMs = 10_000;
/** Only a share of the bytes is flipped, to save time. The stride is coprime to the size of the parts of a block, so all kinds of bytes are hit. */
const flipStride = 37;
const spanMs = 2 * hourMs;
const stepsPerSpan = spanMs / stepMs;
const bounds = {
  spanMs,
  retention: { ageMs: 48 * hourMs, bytes: 1e9 },
  seriesMax: 100,
  samplesMax: 1e6,
};

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'divan-tier-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function aTier(
  folder: string,
  {
    nowMs = startMs,
    log = silentLog,
    ...changed
  }: { nowMs?: number; log?: Log } & Partial<typeof bounds> = {},
) {
  const clock = new ManualClock(nowMs);
  const tier = new Tier({
    files: new FolderStoreFiles(folder),
    clock,
    log,
    bounds: { ...bounds, ...changed },
  });
  await tier.open();
  return tier;
}

const opsOf = (value: number): FlatSample[] => [
  { name: 'ops', labels: { bucket: 'a' }, value },
  { name: 'ops', labels: { bucket: 'b' }, value: value * 2 },
  { name: 'items', labels: { bucket: 'a' }, value: 7 },
];

/** Appends the samples of the steps from `fromStep` up to, but not including, `endStep`. The value of `ops` in bucket `a` is the number of the step. */
async function fill(tier: Tier, endStep: number, fromStep = 0) {
  for (let step = fromStep; step < endStep; step++) {
    tier.append(startMs + step * stepMs, opsOf(step));
    if (step % 300 === 0) await tier.written();
  }
  await tier.written();
}

const named = (name: string): Matcher[] => [{ label: '__name__', operator: '=', value: name }];
const ofBucket = (name: string, bucket: string): Matcher[] => [
  ...named(name),
  { label: 'bucket', operator: '=', value: bucket },
];

async function stepsOf(tier: Tier, matchers = ofBucket('ops', 'a'), fromStep = 0, toStep = 1e6) {
  const { series, problems } = await tier.select(
    matchers,
    startMs + fromStep * stepMs,
    startMs + toStep * stepMs,
  );
  const [only] = series;
  const wrong = only
    ? [...only.timesMs].findIndex((time, at) => time !== startMs + (only.values[at] as number) * stepMs)
    : -1;
  assert.equal(wrong, -1, 'a sample differs from the appended one');
  return { count: only?.values.length ?? 0, first: only?.values[0], last: only?.values.at(-1), problems };
}

test('a tier reads samples of heads and blocks by labels and times', async (t) => {
  const tier = await aTier(aFolder(t));
  await fill(tier, 2000);
  assert.deepEqual(await stepsOf(tier), { count: 2000, first: 0, last: 1999, problems: [] });
  assert.deepEqual(await stepsOf(tier, ofBucket('ops', 'a'), 700, 730), {
    count: 31,
    first: 700,
    last: 730,
    problems: [],
  });
  const { series } = await tier.select(named('ops'), startMs, startMs);
  assert.deepEqual(
    series.map(({ labels, values }) => [labels['bucket'], ...values]),
    [
      ['a', 0],
      ['b', 0],
    ],
  );
  assert.deepEqual((await tier.select(named('absent'), 0, endMs)).series, []);
  assert.deepEqual(
    (await tier.select([{ label: 'bucket', operator: '=~', value: 'a|x' }], startMs, startMs)).series.length,
    2,
  );
  await tier.close();
});

test('a tier reads all samples after a restart, and appends more', async (t) => {
  const folder = aFolder(t);
  const first = await aTier(folder);
  await fill(first, 1000);
  await first.close();
  const second = await aTier(folder, { nowMs: startMs + 1000 * stepMs });
  assert.deepEqual(await stepsOf(second), { count: 1000, first: 0, last: 999, problems: [] });
  await fill(second, 1100, 1000);
  await second.close();
  const third = await aTier(folder, { nowMs: startMs + 10 * hourMs });
  assert.deepEqual(await stepsOf(third), { count: 1100, first: 0, last: 1099, problems: [] });
  await third.close();
  assert.ok(
    readdirSync(folder).every((name) => name.endsWith('.block')),
    'past spans are blocks',
  );
});

test('a tier keeps samples that are appended while it reads the folder', async (t) => {
  const folder = aFolder(t);
  const tier = new Tier({
    files: new FolderStoreFiles(folder),
    clock: new ManualClock(startMs),
    log: silentLog,
    bounds,
  });
  const opened = tier.open();
  tier.append(startMs, opsOf(0));
  await opened;
  await tier.written();
  assert.equal((await stepsOf(tier)).count, 1);
  await tier.close();
});

test('a tier whose log was truncated loses only the last record', async (t) => {
  const folder = aFolder(t);
  const tier = await aTier(folder);
  await fill(tier, 5);
  await tier.close();
  const [name] = readdirSync(folder) as [string];
  const contents = readFileSync(join(folder, name));
  // The first record names the series too; the other four have the same length.
  const firstRecordBytes = contents.readUInt32LE(0) + recordHeaderBytes;
  const lastRecordBytes = (contents.length - firstRecordBytes) / 4;
  for (let cut = contents.length - 1; cut > contents.length - lastRecordBytes; cut--) {
    writeFileSync(join(folder, name), contents);
    truncateSync(join(folder, name), cut);
    const again = await aTier(folder);
    const found = await stepsOf(again);
    assert.deepEqual(
      found,
      { count: 4, first: 0, last: 3, problems: [] },
      `cut at ${cut} of ${contents.length}`,
    );
    await fill(again, 6, 4);
    await again.close();
    const third = await aTier(folder);
    assert.equal((await stepsOf(third)).count, 6);
    await third.close();
  }
});

test('a tier reports a flipped bit in any byte of a block, and reads older blocks', async (t) => {
  const [folder, broken] = [aFolder(t), aFolder(t)];
  const tier = await aTier(folder);
  await fill(tier, 1500);
  await tier.close();
  const blocks = readdirSync(folder)
    .filter((name) => name.endsWith('.block'))
    .sort();
  assert.equal(blocks.length, 2);
  const hit = blocks[1] as string;
  const seriesCount = opsOf(0).length;
  const contents = readFileSync(join(folder, hit));
  for (let at = 0; at < contents.length; at += flipStride) {
    rmSync(broken, { recursive: true });
    mkdirSync(broken);
    for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(broken, name));
    const flipped = Buffer.from(contents);
    flipped[at] = (flipped[at] as number) ^ (1 << (at % 8));
    writeFileSync(join(broken, hit), flipped);
    const again = await aTier(broken, { nowMs: startMs + 1500 * stepMs });
    const { series, problems } = await again.select([], startMs, startMs + 1500 * stepMs);
    assert.equal(series.length, seriesCount, `series after a flip of byte ${at}`);
    for (const oneSeries of series) {
      assert.equal(
        [...oneSeries.timesMs].filter((time) => time < startMs + spanMs).length,
        stepsPerSpan,
        `older samples, byte ${at}`,
      );
    }
    assert.match(problems[0] ?? `byte ${at} is wrong`, new RegExp(`^metrics file ${hit}: .*damaged`));
    await again.close();
  }
});

test('a tier reports a flipped byte in the log, and keeps the records before it', async (t) => {
  const folder = aFolder(t);
  const tier = await aTier(folder);
  await fill(tier, 50);
  await tier.close();
  const [name] = readdirSync(folder) as [string];
  const bytes = readFileSync(join(folder, name));
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] as number) ^ 16;
  writeFileSync(join(folder, name), bytes);
  const logged: unknown[] = [];
  const again = await aTier(folder, { log: { ...silentLog, error: (event) => logged.push(event) } });
  const { count, first, problems } = await stepsOf(again);
  assert.ok(count > 10 && count < 50 && first === 0, `${count} samples`);
  assert.match(problems.join(), /\.log: the record at byte \d+ is damaged/);
  assert.deepEqual(logged, ['metrics.damaged']);
  await again.close();
});

test('a tier removes the oldest blocks by age and by size', async (t) => {
  const byAge = aFolder(t);
  const first = await aTier(byAge);
  await fill(first, 3000);
  await first.close();
  const reopened = await aTier(byAge, { nowMs: startMs + 51 * hourMs });
  assert.equal((await stepsOf(reopened)).first, stepsPerSpan, 'the first span is older than two days');
  await reopened.close();
  const small = await aTier(byAge, {
    nowMs: startMs + 51 * hourMs,
    retention: { ageMs: 48 * hourMs, bytes: 6_000 },
  });
  assert.ok(small.blockBytes > 0 && small.blockBytes <= 6_000, `${small.blockBytes} bytes`);
  await small.close();
});

test('a tier ignores series above the limit, and logs that once', async (t) => {
  const logged: unknown[] = [];
  const log: Log = { ...silentLog, warn: (event, fields) => logged.push({ event, ...fields }) };
  const tier = await aTier(aFolder(t), { log, seriesMax: 2 });
  for (const step of [0, 1]) tier.append(startMs + step * stepMs, opsOf(step));
  const { series } = await tier.select([], startMs, endMs);
  assert.deepEqual(
    series.map(({ values }) => values.length),
    [2, 2],
  );
  assert.deepEqual(logged, [{ event: 'metrics.too_many_series', limit: 2 }]);
  await tier.written();
  await tier.close();
});

test('a tier keeps samples in memory while the disk fails, and writes them later', async (t) => {
  const folder = aFolder(t);
  const logged: string[] = [];
  const tier = await aTier(folder, { log: { ...silentLog, error: (event) => logged.push(event) } });
  rmSync(folder, { recursive: true });
  await fill(tier, 3);
  assert.equal((await stepsOf(tier)).count, 3);
  assert.equal(logged[0], 'metrics.write_failed');
  mkdirSync(folder);
  await fill(tier, 4, 3);
  await tier.close();
  const again = await aTier(folder);
  assert.equal((await stepsOf(again)).count, 4, 'no sample is lost');
  await again.close();
});

/** A folder that refuses new blocks while `isFull` is set. */
class FullDisk extends FolderStoreFiles {
  isFull = true;
  override write(name: string, parts: readonly Buffer[]): Promise<void> {
    return this.isFull ? Promise.reject(new Error('no space left')) : super.write(name, parts);
  }
}

test('a tier opens on a full disk, logs that once, and writes past spans when there is space', async (t) => {
  const folder = aFolder(t);
  const first = await aTier(folder);
  await fill(first, 100);
  await first.close();
  const logged: string[] = [];
  const log: Log = { ...silentLog, error: (event) => logged.push(event) };
  const files = new FullDisk(folder);
  const clock = new ManualClock(startMs + 3 * hourMs);
  const tier = new Tier({ files, clock, log, bounds });
  await tier.open();
  await fill(tier, 1103, 1100);
  assert.equal((await stepsOf(tier)).count, 103);
  for (let step = 1103; step < 1110; step++) await fill(tier, step + 1, step);
  assert.deepEqual(logged, ['metrics.write_failed']);
  assert.ok(readdirSync(folder).length === 2, 'new samples are in a log although the block waits');
  files.isFull = false;
  await fill(tier, 1111, 1110);
  await tier.close();
  assert.equal(readdirSync(folder).filter((name) => name.endsWith('.block')).length, 1);
  const again = await aTier(folder, { nowMs: startMs + 3 * hourMs });
  assert.equal((await stepsOf(again)).count, 111);
  await again.close();
});

test('a tier reports damage only to queries of the damaged time', async (t) => {
  const folder = aFolder(t);
  const tier = await aTier(folder);
  await fill(tier, 50);
  await tier.close();
  const [name] = readdirSync(folder) as [string];
  const bytes = readFileSync(join(folder, name));
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] as number) ^ 16;
  writeFileSync(join(folder, name), bytes);
  const again = await aTier(folder);
  assert.equal((await stepsOf(again)).problems.length, 1);
  assert.deepEqual((await stepsOf(again, undefined, stepsPerSpan)).problems, []);
  await again.close();
});

/** A folder that counts the bytes read from its blocks. */
class CountedReads extends FolderStoreFiles {
  bytes = 0;
  override async open(name: string) {
    const file = await super.open(name);
    return {
      close: () => file.close(),
      read: (at: number, length: number) => {
        this.bytes += length;
        return file.read(at, length);
      },
    };
  }
}

test('a tier reads only the parts of blocks whose metrics match the pattern', async (t) => {
  const files = new CountedReads(aFolder(t));
  const clock = new ManualClock(startMs + 9 * hourMs);
  const tier = new Tier({ files, clock, log: silentLog, bounds });
  await tier.open();
  await fill(tier, 3000);
  const bytesFor = async (pattern: string) => {
    files.bytes = 0;
    await tier.select([{ label: '__name__', operator: '=~', value: pattern }], startMs, startMs + 6 * hourMs);
    return files.bytes;
  };
  await bytesFor('x');
  const [all, items, ops, none] = [
    await bytesFor('.*'),
    await bytesFor('it.+'),
    await bytesFor('ops|x'),
    await bytesFor('x'),
  ];
  assert.equal(none, 0);
  assert.ok(items > 0 && ops > 0);
  assert.equal(items + ops, all);
  await tier.close();
});

test('a tier refuses a query for too many samples before reading them', async (t) => {
  const files = new CountedReads(aFolder(t));
  const clock = new ManualClock(startMs + 9 * hourMs);
  const tier = new Tier({
    files,
    clock,
    log: silentLog,
    bounds: { ...bounds, samplesMax: 1_000 },
  });
  await tier.open();
  await fill(tier, 3000);
  assert.equal((await stepsOf(tier, ofBucket('ops', 'a'), 0, 900)).count, 901);
  files.bytes = 0;
  await assert.rejects(tier.select([], startMs, endMs), TooManySamplesError);
  assert.ok(files.bytes < tier.blockBytes / 2, `${files.bytes} of ${tier.blockBytes} bytes read`);
  await tier.close();
});

test('after the clock was set back, a tier keeps the sample of each time that was written last', async (t) => {
  const folder = aFolder(t);
  const logged: unknown[] = [];
  const log: Log = { ...silentLog, warn: (event, fields) => logged.push({ event, ...fields }) };
  const tier = await aTier(folder, { log });
  const appendSteps = async (fromStep: number, toStep: number, value: (step: number) => number) => {
    for (let step = fromStep; step < toStep; step++) {
      tier.append(startMs + step * stepMs, opsOf(value(step)));
      await tier.written();
    }
  };
  await appendSteps(0, 30, (step) => step);
  // The clock goes forward by a day, then back to about an hour after the start, then back to the right time.
  await appendSteps(8640, 8650, () => -1);
  await appendSteps(390, 400, () => -2);
  await appendSteps(30, 500, (step) => step);
  const valuesOf = async (from: Tier) => {
    const { series, problems } = await from.select(ofBucket('ops', 'a'), 0, endMs);
    assert.deepEqual(problems, []);
    const { timesMs, values } = series[0] as { timesMs: Float64Array; values: Float64Array };
    assert.ok(timesMs.every((time, at) => at === 0 || time > (timesMs[at - 1] as number)));
    return [...values];
  };
  const expected = [...Array.from({ length: 500 }, (_, step) => step), ...Array(10).fill(-1)];
  assert.deepEqual(await valuesOf(tier), expected);
  assert.deepEqual(logged, [
    { event: 'metrics.clock_set_back', seconds: ((8649 - 390) * stepMs) / 1000 },
    { event: 'metrics.clock_set_back', seconds: ((399 - 30) * stepMs) / 1000 },
  ]);
  await tier.close();
  const again = await aTier(folder, { nowMs: startMs + 50 * hourMs });
  assert.deepEqual(
    await valuesOf(again),
    expected,
    'the samples written last replace earlier ones, after a restart too',
  );
  again.append(startMs + 10 * stepMs, opsOf(-3));
  await again.written();
  await again.close();
  const last = await aTier(folder, { nowMs: startMs + 50 * hourMs });
  assert.deepEqual(await valuesOf(last), [...expected.slice(0, 10), -3, ...expected.slice(11)]);
  await last.close();
});

test('after a backward step of the clock of at most a minute, a tier drops samples until the time is reached again', async (t) => {
  const tier = await aTier(aFolder(t));
  await fill(tier, 10);
  tier.append(startMs + 85_000, opsOf(-1));
  tier.append(startMs + 90_000, opsOf(-1));
  await fill(tier, 12, 10);
  assert.equal((await stepsOf(tier)).count, 12);
  await tier.close();
});
