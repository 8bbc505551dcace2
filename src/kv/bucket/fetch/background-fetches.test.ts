// Reading documents back from disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { type CutItem, CutWriter, emptyCutItem, stateOfVbucket } from '../../data/cut.ts';
import type { FetchedDocument } from '../../data/documents.ts';
import { MemoryDisk, type MemoryDiskOptions } from '../../disk/memory-engine.ts';
import { Timings } from '../timings.ts';
import { BackgroundFetches, type BackgroundFetchesOptions, type FetchRequest } from './background-fetches.ts';

/** Reads of a file that has one document. */
async function fetchesOf({
  read,
  ...options
}: Pick<BackgroundFetchesOptions, 'store'> &
  Partial<Pick<BackgroundFetchesOptions, 'noteDamaged'>> &
  MemoryDiskOptions) {
  const disk = new MemoryDisk({ ...(read && { read }) }).engine();
  await disk.open({ folder: '/f', bucketUuid: 'f', incarnation: 1, fileCount: 1 });
  const writer = new CutWriter();
  writer.begin(0);
  const value = { keyEnd: 2, valueStart: 2, valueEnd: 7, seqno: 1 };
  writer.item({ ...emptyCutItem(Buffer.from('\0kvalue')), ...value });
  writer.finish(stateOfVbucket(0));
  await disk.commit('f', 0, writer.drain());
  const clock = new ManualClock();
  const timings = new Timings();
  const noted = { noteAbsent: () => {}, noteDamaged: () => {} };
  const rest = { bucketUuid: 'f', fileCount: 1, tick: () => {}, isCurrent: () => true, ...noted };
  return { disk, clock, fetches: new BackgroundFetches({ disk, clock, timings, ...rest, ...options }) };
}

const request = (key: string, seqno = 0): FetchRequest => ({
  vb: 0,
  key: Buffer.from(key),
  seqno,
  clears: 0,
});

const fetch = (fetches: BackgroundFetches, seqno = 0) =>
  new Promise<FetchedDocument | Status>((resolve) => fetches.load(request('\0k', seqno), resolve));

const statusOf = (answer: FetchedDocument | Status): Status =>
  typeof answer === 'number' ? answer : Status.success;

const valueIn = ({ buffer, valueStart, valueEnd }: CutItem) =>
  buffer.toString('latin1', valueStart, valueEnd);

test('a request that ends before its read begins is answered once', async () => {
  const { fetches } = await fetchesOf({ store: () => true });
  const answers: Status[] = [];
  fetches.load(request('\0k'), (answer) => answers.push(statusOf(answer)));
  fetches.clear();
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(answers, [Status.temporaryFailure]);
  assert.equal(fetches.fetched, 0);
});

test('a document read without loading stays out of memory, unless another request loads it', async () => {
  const fetched: string[] = [];
  const { disk, fetches } = await fetchesOf({ store: (_, item) => fetched.push(valueIn(item)) > 0 });
  const read = (key: string) =>
    new Promise<string | Status | null>((resolve) =>
      fetches.read(request(key), (found) =>
        resolve(typeof found === 'number' ? found : found.item && valueIn(found.item)),
      ),
    );
  assert.deepEqual(await Promise.all([read('\0k'), read('\0other')]), ['value', null]);
  assert.deepEqual(fetched, []);
  assert.deepEqual(await Promise.all([read('\0k'), fetch(fetches).then(statusOf)]), [
    'value',
    Status.success,
  ]);
  assert.deepEqual(fetched, ['value']);
  await disk.stop();
  assert.equal(await read('\0k'), Status.temporaryFailure);
});

test('a document for which memory has no room is in the answer', async () => {
  const { fetches } = await fetchesOf({ store: () => false });
  const answer = await fetch(fetches);
  assert.ok(typeof answer === 'object' && answer.item);
  assert.deepEqual([valueIn(answer.item), answer.lacksRoom], ['value', true]);
});

test('a read that began before a newer version is not used for a request for that version', async () => {
  const fetched: number[] = [];
  let reads = 0;
  const { fetches } = await fetchesOf({
    store: ({ seqno }) => fetched.push(seqno) > 0,
    read: async () => {
      if (++reads === 1) later = fetch(fetches, 2);
    },
  });
  let later: Promise<unknown> = Promise.resolve();
  await Promise.all([fetch(fetches, 1), fetch(fetches, 1)]);
  await later;
  assert.deepEqual([fetched, reads], [[1, 2], 2]);
});

test('a read of a damaged row is answered with an error that clients do not retry, and reported', async () => {
  const damaged: number[] = [];
  const { disk, fetches } = await fetchesOf({ store: () => true, noteDamaged: (vb) => damaged.push(vb) });
  disk.fetchItems = async () => ({ batch: new Uint8Array(), damaged: [0] });
  assert.equal(statusOf(await fetch(fetches)), Status.internalError);
  assert.deepEqual(damaged, [0]);
});
