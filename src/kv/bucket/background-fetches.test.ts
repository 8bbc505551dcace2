// Reading documents back from disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import { BackgroundFetches } from './background-fetches.ts';
import { type CutItem, CutWriter, emptyCutItem, stateOfVbucket } from './cut.ts';
import { Timings } from './timings.ts';

test('whoever is sent away before the read begins is answered once', async () => {
  const disk = new MemoryDisk().engine();
  await disk.open({ folder: '/f', bucketUuid: 'f', incarnation: 1, fileCount: 1 });
  const fetches = new BackgroundFetches({
    disk,
    bucketUuid: 'f',
    fileCount: 1,
    clock: new ManualClock(),
    timings: new Timings(),
    tick: () => {},
    take: () => true,
    noteAbsent: () => {},
  });
  const answers: Status[] = [];
  fetches.add(0, Buffer.from('\0k'), (status) => answers.push(status));
  fetches.clear();
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(answers, [Status.temporaryFailure]);
  assert.equal(fetches.fetched, 0);
});

test('what is read past memory stays out of it, unless others ask for it as well', async () => {
  const disk = new MemoryDisk().engine();
  await disk.open({ folder: '/f', bucketUuid: 'f', incarnation: 1, fileCount: 1 });
  const writer = new CutWriter();
  writer.begin(0);
  writer.item({
    ...anItem,
    buffer: Buffer.from('\0kvalue'),
    keyEnd: 2,
    valueStart: 2,
    valueEnd: 7,
    seqno: 1,
  });
  writer.finish(stateOfVbucket(0));
  await disk.commit('f', 0, writer.take());
  const taken: string[] = [];
  const fetches = new BackgroundFetches({
    disk,
    bucketUuid: 'f',
    fileCount: 1,
    clock: realClock,
    timings: new Timings(),
    tick: () => {},
    take: (_, item) => taken.push(valueIn(item)) > 0,
    noteAbsent: () => {},
  });
  const read = (key: string) =>
    new Promise<string | Status | null>((resolve) =>
      fetches.read(0, Buffer.from(key), (found) =>
        resolve(found === null || typeof found === 'number' ? found : valueIn(found)),
      ),
    );
  assert.deepEqual(await Promise.all([read('\0k'), read('\0other')]), ['value', null]);
  assert.deepEqual(taken, []);
  const both = [read('\0k'), new Promise<Status>((resolve) => fetches.add(0, Buffer.from('\0k'), resolve))];
  assert.deepEqual(await Promise.all(both), ['value', Status.success]);
  assert.deepEqual(taken, ['value']);
  await disk.stop();
  assert.equal(await read('\0k'), Status.temporaryFailure);
});

const anItem = emptyCutItem();
const valueIn = ({ buffer, valueStart, valueEnd }: CutItem) =>
  buffer.toString('latin1', valueStart, valueEnd);
