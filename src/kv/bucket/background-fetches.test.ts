// Reading documents back from disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { type CutItem, CutWriter, emptyCutItem, stateOfVbucket } from '../data/cut.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import { BackgroundFetches, type BackgroundFetchesOptions } from './background-fetches.ts';
import { Timings } from './timings.ts';

/** Reads of a file that has one document. */
async function fetchesOf(options: Pick<BackgroundFetchesOptions, 'take'>) {
  const disk = new MemoryDisk().engine();
  await disk.open({ folder: '/f', bucketUuid: 'f', incarnation: 1, fileCount: 1 });
  const writer = new CutWriter();
  writer.begin(0);
  const value = { keyEnd: 2, valueStart: 2, valueEnd: 7, seqno: 1 };
  writer.item({ ...emptyCutItem(Buffer.from('\0kvalue')), ...value });
  writer.finish(stateOfVbucket(0));
  await disk.commit('f', 0, writer.take());
  const clock = new ManualClock();
  const timings = new Timings();
  const rest = { bucketUuid: 'f', fileCount: 1, tick: () => {}, noteAbsent: () => {} };
  return { disk, clock, fetches: new BackgroundFetches({ disk, clock, timings, ...rest, ...options }) };
}

const fetch = (fetches: BackgroundFetches) =>
  new Promise<Status>((resolve) => fetches.add(0, Buffer.from('\0k'), resolve));

const valueIn = ({ buffer, valueStart, valueEnd }: CutItem) =>
  buffer.toString('latin1', valueStart, valueEnd);

test('whoever is sent away before the read begins is answered once', async () => {
  const { fetches } = await fetchesOf({ take: () => true });
  const answers: Status[] = [];
  fetches.add(0, Buffer.from('\0k'), (status) => answers.push(status));
  fetches.clear();
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(answers, [Status.temporaryFailure]);
  assert.equal(fetches.fetched, 0);
});

test('what is read past memory stays out of it, unless others ask for it as well', async () => {
  const taken: string[] = [];
  const { disk, fetches } = await fetchesOf({ take: (_, item) => taken.push(valueIn(item)) > 0 });
  const read = (key: string) =>
    new Promise<string | Status | null>((resolve) =>
      fetches.read(0, Buffer.from(key), (found) =>
        resolve(found === null || typeof found === 'number' ? found : valueIn(found)),
      ),
    );
  assert.deepEqual(await Promise.all([read('\0k'), read('\0other')]), ['value', null]);
  assert.deepEqual(taken, []);
  assert.deepEqual(await Promise.all([read('\0k'), fetch(fetches)]), ['value', Status.success]);
  assert.deepEqual(taken, ['value']);
  await disk.stop();
  assert.equal(await read('\0k'), Status.temporaryFailure);
});

test('what memory has no room for is asked for again, and refused after two seconds', async () => {
  let offered = 0;
  let hasRoom = false;
  const { clock, fetches } = await fetchesOf({ take: () => ++offered > 3 && hasRoom });
  const passUntil = async (wanted: () => boolean) => {
    for (let i = 0; i < 1000 && !wanted(); i++) {
      clock.advance(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const answers: Status[] = [];
  fetches.add(0, Buffer.from('\0k'), (status) => answers.push(status));
  await passUntil(() => offered > 3);
  assert.equal(answers.length, 0);
  hasRoom = true;
  await passUntil(() => answers.length > 0);
  assert.equal(answers.join(), String(Status.success));
  hasRoom = false;
  const askedAtMs = clock.monotonicMs();
  fetches.add(0, Buffer.from('\0k'), (status) => answers.push(status));
  await passUntil(() => answers.length > 1);
  assert.deepEqual(answers, [Status.success, Status.temporaryFailure]);
  const waitedMs = clock.monotonicMs() - askedAtMs;
  assert.ok(waitedMs >= 2000 && waitedMs < 2500, `${waitedMs} ms`);
  assert.equal(fetches.fetched, 2);
});
