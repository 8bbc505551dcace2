import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectionIdBytes, readCollectionId, writeCollectionId } from './collection-id.ts';

test('an id is written in the shortest form and read with the same value', () => {
  for (const id of [
    0, 1, 8, 0x7f, 0x80, 0x3fff, 0x4000, 0x1fffff, 0x200000, 0xfffffff, 0x10000000, 0xffffffff,
  ]) {
    const buffer = Buffer.alloc(8, 0xff);
    const end = writeCollectionId(buffer, 1, id);
    assert.equal(end - 1, collectionIdBytes(id));
    assert.equal(readCollectionId(buffer, 1, end), id);
    for (let cut = 1; cut < end; cut++) assert.equal(readCollectionId(buffer, 1, cut), -1);
  }
});

test('longer forms, truncated ids and ids above 32 bits are refused', () => {
  for (const bytes of [
    [0x80, 0],
    [0x81, 0x80, 0],
    [0x80],
    [0xff, 0xff, 0xff, 0xff, 0xff, 1],
    [0xff, 0xff, 0xff, 0xff, 0x10],
  ]) {
    assert.equal(readCollectionId(Buffer.from(bytes), 0, bytes.length), -1, bytes.join());
  }
});
