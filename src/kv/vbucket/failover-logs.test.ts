import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailoverLogs, failoverEntriesMax } from './failover-logs.ts';

const entry = (uuidLo: number, seqno: number) => ({ uuidHi: 0xfedcba98, uuidLo, seqno });

test('each vbucket keeps its newest entries, up to the limit', () => {
  const logs = new FailoverLogs(4);
  for (let i = 0; i < failoverEntriesMax + 5; i++) logs.push(2, entry(i, i * 2 ** 33));
  logs.push(3, entry(77, 5));
  const entries = logs.entries(2);
  assert.equal(entries.length, failoverEntriesMax);
  assert.deepEqual(entries[0], entry(failoverEntriesMax + 4, (failoverEntriesMax + 4) * 2 ** 33));
  assert.deepEqual(entries.at(-1), entry(5, 5 * 2 ** 33));
  assert.deepEqual(logs.entries(3), [entry(77, 5)]);
  assert.deepEqual(logs.entries(1), []);
});

test('the newest uuid of each vbucket is that of its last entry', () => {
  const logs = new FailoverLogs(4);
  const uuids = [1, 2, 3].map((vb) => ({ uuidHi: 10 * vb, uuidLo: 10 * vb + 1, seqno: vb }));
  for (const [index, uuid] of uuids.entries()) {
    logs.push(index + 1, entry(7, 0));
    logs.push(index + 1, uuid);
  }
  assert.deepEqual(
    [1, 2, 3].map((vb) => [logs.uuidHi(vb), logs.uuidLo(vb)]),
    uuids.map(({ uuidHi, uuidLo }) => [uuidHi, uuidLo]),
  );
});

test('a new entry drops the entries above its seqno', () => {
  const logs = new FailoverLogs(1);
  for (const seqno of [0, 10, 20, 30]) logs.push(0, entry(seqno, seqno));
  logs.push(0, entry(99, 20));
  assert.deepEqual(logs.entries(0), [entry(99, 20), entry(20, 20), entry(10, 10), entry(0, 0)]);
});

test('entries without changes are removed to make room for new entries, the oldest first', () => {
  const logs = new FailoverLogs(1);
  logs.push(0, entry(0, 0));
  logs.push(0, entry(1, 10));
  for (let uuid = 2; uuid < failoverEntriesMax + 10; uuid++) logs.push(0, entry(uuid, 20));
  const uuids = logs.entries(0).map(({ uuidLo }) => uuidLo);
  const newest = Array.from({ length: failoverEntriesMax - 2 }, (_, index) => failoverEntriesMax + 9 - index);
  assert.deepEqual(uuids, [...newest, 1, 0]);
});

test('a log is decoded to the entries that were encoded: each as big-endian uuid and seqno', () => {
  const logs = new FailoverLogs(3);
  logs.push(1, entry(1, 0));
  logs.push(1, entry(0xffffffff, 2 ** 42 + 3));
  const encoded = logs.encode(1);
  assert.equal(Buffer.from(encoded).toString('hex', 0, 16), 'fedcba98ffffffff0000040000000003');
  const other = new FailoverLogs(3);
  other.decode(2, encoded);
  assert.deepEqual(other.entries(2), logs.entries(1));
  assert.throws(() => other.decode(2, encoded.subarray(1)), /length of a failover log is invalid/);
});
