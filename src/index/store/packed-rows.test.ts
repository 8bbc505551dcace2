import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unpacked, unpackedIds } from './packed-rows.ts';

test('packed rows have their keys and ids, also those that are not ASCII', () => {
  const rows = ['a', 'grün', 'b'.repeat(250), '日本', '😀', 'z'].map((id, at) => ({
    key: Buffer.from([5, 200 + at, 0x80, 0]),
    id,
  }));
  const bytes = Buffer.concat(rows.flatMap(({ key, id }) => [key, Buffer.from(id)]));
  const lengths = rows.map(({ key, id }) => key.length * 256 + Buffer.byteLength(id)).join();
  assert.deepEqual(
    unpacked([bytes, Buffer.from(lengths)]).map(({ key, id }) => ({ key, id })),
    rows,
  );
  assert.deepEqual(unpacked([null, null]), []);
});

test('packed ids are separated by commas; ids with a comma cannot be unpacked', () => {
  const ids = ['a', 'grün', 'b'.repeat(250), '日本', '😀', 'z'];
  assert.deepEqual(unpackedIds([Buffer.from(ids.join()), ids.length]), ids);
  assert.equal(unpackedIds([Buffer.from('a,b'), 1]), null);
  assert.deepEqual(unpackedIds([null, 0]), []);
});
