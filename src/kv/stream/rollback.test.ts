import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rollbackSeqno } from './rollback.ts';

/** Three failover entries: at 0, 100 and 200; the vbucket is at 300. */
const failoverLog = [
  { uuidHi: 0, uuidLo: 3, seqno: 200 },
  { uuidHi: 0, uuidLo: 2, seqno: 100 },
  { uuidHi: 0, uuidLo: 1, seqno: 0 },
];

interface Row {
  title: string;
  uuid: number;
  start: number;
  snap?: [number, number];
  purge?: number;
  strict?: boolean;
  expected: number;
}

const rows: Row[] = [
  { title: 'from zero, without a uuid', uuid: 0, start: 0, expected: -1 },
  { title: 'from zero, with a uuid of another history', uuid: 9, start: 0, expected: -1 },
  { title: 'from zero, strictly, without a uuid', uuid: 0, start: 0, strict: true, expected: -1 },
  { title: 'from zero, strictly, with another uuid', uuid: 9, start: 0, strict: true, expected: 0 },
  { title: 'from zero, strictly, with the newest uuid', uuid: 3, start: 0, strict: true, expected: -1 },
  { title: 'from zero, though tombstones were purged', uuid: 3, start: 0, purge: 50, expected: -1 },
  { title: 'unknown uuid', uuid: 9, start: 10, expected: 0 },
  { title: 'no uuid in the middle', uuid: 0, start: 10, expected: 0 },
  { title: 'newest history, whole snapshot', uuid: 3, start: 250, snap: [201, 250], expected: -1 },
  { title: 'newest history, up to the high seqno', uuid: 3, start: 300, expected: -1 },
  { title: 'newest history, beyond the high seqno', uuid: 3, start: 310, expected: 300 },
  { title: 'newest history, in mid-snapshot', uuid: 3, start: 250, snap: [201, 300], expected: -1 },
  {
    title: 'newest history, in a snapshot beyond the high seqno',
    uuid: 3,
    start: 250,
    snap: [240, 310],
    expected: 240,
  },
  {
    title: 'newest history, at the start of a snapshot beyond the high seqno',
    uuid: 3,
    start: 250,
    snap: [250, 310],
    expected: -1,
  },
  { title: 'older history, before it ended', uuid: 2, start: 150, expected: -1 },
  { title: 'older history, exactly at its end', uuid: 2, start: 200, expected: -1 },
  { title: 'older history, start beyond its end', uuid: 2, start: 230, expected: 200 },
  {
    title: 'older history, whole snapshot beyond its end',
    uuid: 2,
    start: 230,
    snap: [150, 230],
    expected: 200,
  },
  { title: 'older history, snapshot over its end', uuid: 2, start: 190, snap: [150, 230], expected: 150 },
  { title: 'older history, snapshot after its end', uuid: 2, start: 230, snap: [220, 240], expected: 200 },
  { title: 'oldest history, beyond the next', uuid: 1, start: 250, snap: [240, 250], expected: 100 },
  { title: 'whole snapshot before the purge seqno', uuid: 3, start: 250, purge: 260, expected: 0 },
  { title: 'whole snapshot at the purge seqno', uuid: 3, start: 260, purge: 260, expected: -1 },
  {
    title: 'at the purge seqno, snapshot before',
    uuid: 3,
    start: 260,
    snap: [250, 270],
    purge: 260,
    expected: -1,
  },
  {
    title: 'snapshot begins before the purge seqno',
    uuid: 3,
    start: 265,
    snap: [250, 270],
    purge: 260,
    expected: 0,
  },
  {
    title: 'snapshot begins exactly at the purge seqno',
    uuid: 3,
    start: 265,
    snap: [260, 270],
    purge: 260,
    expected: -1,
  },
  {
    title: 'whole snapshot that began before the purge seqno',
    uuid: 3,
    start: 270,
    snap: [250, 270],
    purge: 260,
    expected: -1,
  },
];

for (const { title, uuid, start, snap = [start, start], purge = 0, strict = false, expected } of rows) {
  test(`a client rolls back as far as it must: ${title}`, () => {
    const client = {
      startSeqno: start,
      uuidHi: 0,
      uuidLo: uuid,
      snapStart: snap[0] ?? 0,
      snapEnd: snap[1] ?? 0,
    };
    const history = { failoverLog, highSeqno: 300, purgeSeqno: purge, strictUuid: strict };
    assert.equal(rollbackSeqno(client, history), expected);
  });
}
