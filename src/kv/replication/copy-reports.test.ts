// When a copy reports its positions: at the end of the turn where a client waits for them, otherwise after a short time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { VbucketColumns } from '../vbucket/columns.ts';
import { CopyReports } from './copy-reports.ts';
import { DelayedWork, delayMs } from './delayed-work.ts';
import type { PeerMessage } from './frames.ts';
import { positionsIn } from './position-rows.ts';

const read = (message: PeerMessage): object =>
  message.kind === 'got' ? { ...message, rows: positionsIn(message.rows) } : message;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function aCopy() {
  const clock = new ManualClock();
  const sent: object[] = [];
  const columns = { count: 2, copy: [0, 0], highSeqno: [0, 0], persistedSeqno: [0, 0], snapEnd: [0, 0] };
  const reports = new CopyReports({
    uuid: 'u',
    columns: columns as unknown as VbucketColumns,
    peers: { send: (_, message) => void sent.push(read(message)) },
    delayed: new DelayedWork(clock),
  });
  return { clock, reports, columns, sent };
}

const row = (vb: number, received: number) => ({
  shard: vb,
  epoch: 1,
  vb,
  received,
  persisted: 0,
  following: true,
});
const got = (bytes: number, ...rows: object[]) => ({ kind: 'got', bucket: 'u', bytes, rows });

test('positions that no client waits for are one message after a short time', async () => {
  const { clock, reports, columns, sent } = aCopy();
  const plain = { shard: 0, epoch: 1, vb: 0, isAwaited: false };
  for (const seqno of [1, 2]) {
    columns.highSeqno[0] = seqno;
    reports.add('a', plain, 10);
    await turn();
  }
  assert.deepEqual(sent, []);
  clock.advance(delayMs.quiet);
  assert.deepEqual(sent, [got(20, row(0, 2))]);
});

test('a position that a client waits for is sent at the end of the turn, with positions that are not sent yet', async () => {
  const { clock, reports, columns, sent } = aCopy();
  columns.highSeqno[0] = columns.highSeqno[1] = 1;
  reports.add('a', { shard: 0, epoch: 1, vb: 0, isAwaited: false }, 10);
  await turn();
  reports.add('a', { shard: 1, epoch: 1, vb: 1, isAwaited: true }, 10);
  assert.deepEqual(sent, [], 'the turn may bring more');
  await turn();
  assert.deepEqual(sent.splice(0), [got(20, row(0, 1), row(1, 1))]);
  clock.advance(delayMs.quiet);
  assert.deepEqual(sent, [], 'nothing is sent twice');
});

test('a report that was sent early is not sent again when its time has come', () => {
  const { clock, reports, columns, sent } = aCopy();
  const plain = { shard: 0, epoch: 1, vb: 0, isAwaited: false };
  reports.add('a', plain, 1);
  reports.send('a');
  sent.length = 0;
  columns.highSeqno[0] = 3;
  reports.add('a', plain, 1);
  assert.deepEqual(sent, []);
  clock.advance(delayMs.quiet);
  assert.deepEqual(sent, [got(1, row(0, 3))]);
});

test('positions that were not reported before the connection was lost are not sent on the next connection', () => {
  const { clock, reports, columns, sent } = aCopy();
  const plain = { shard: 0, epoch: 1, vb: 0, isAwaited: false };
  reports.add('a', plain, 1);
  reports.discard('a');
  clock.advance(delayMs.quiet);
  assert.deepEqual(sent, []);
  columns.highSeqno[0] = 3;
  reports.add('a', plain, 1);
  clock.advance(delayMs.quiet);
  assert.deepEqual(sent, [got(1, row(0, 3))]);
});

test('a copy that is inside of a snapshot does not count as following', () => {
  const { clock, columns, reports, sent } = aCopy();
  columns.highSeqno[0] = 5;
  columns.snapEnd[0] = 6;
  reports.add('a', { epoch: 1, shard: 0, vb: 0, isAwaited: false }, 0);
  clock.advance(delayMs.busy);
  assert.deepEqual(sent, [got(0, { ...row(0, 5), following: false })]);
});
