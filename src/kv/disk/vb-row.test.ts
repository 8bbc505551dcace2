import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { aState } from '../../../test/support/cuts.ts';
import { readVbRow, recordOf, stateOf, vbRow } from './vb-row.ts';

/** The columns of a row, reordered from the order of `sql.putVb` to that of `sql.vbucketsFrom`. */
function selected(row: readonly unknown[]): unknown[] {
  const [id, high, , purge, snapStart, snapEnd, cas, rev, failover, uid, items, deleted, copy, epoch, sum] =
    row;
  return [id, high, purge, cas, rev, failover, uid, items, deleted, sum, snapStart, snapEnd, copy, epoch];
}

const state = aState({ vb: 5, endSeqno: 7, manifestUid: 2 });
const row = selected(vbRow(state));

test('a row that was written is read with the same fields, also snapshot, epoch and phase of a copy', () => {
  assert.deepEqual(readVbRow(row), recordOf(state));
  assert.deepEqual(stateOf(recordOf(state)), { ...state, startSeqno: 0 });
});

test('a row with any column changed or missing is refused', (t) => {
  t.plan(3 * row.length);
  for (const [column, value] of row.entries()) {
    const others = typeof value === 'number' ? [value + 1, null, -1] : [new Uint8Array(16), null, ''];
    for (const other of others) t.assert.equal(readVbRow(row.with(column, other)), null, `column ${column}`);
  }
});

test('a row of format 1, whose check does not cover the snapshot, is read', () => {
  const [id, high, purge, cas, rev, failover, uid, items, deleted] = row as [number, ...unknown[]];
  const numbers = Float64Array.from([id, high, purge, uid, items, deleted] as number[]);
  const blobs = [cas, rev, failover] as Uint8Array[];
  const checksum = blobs.reduce((sum, blob) => crc32(blob, sum), crc32(Buffer.from(numbers.buffer)));
  const older = [...row.slice(0, 9), checksum, 1, 7, null, null];
  assert.deepEqual(readVbRow(older), { ...recordOf(state), snapStart: 7, snapEnd: 7, epoch: 0, copy: 0 });
  assert.equal(readVbRow(older.with(1, 8)), null);
});
