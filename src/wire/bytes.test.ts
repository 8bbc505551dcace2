import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readU32, readU48, writeU32, writeU48 } from './bytes.ts';

test('every number that was written is read with the same value, up to the largest', () => {
  const buffer = Buffer.alloc(8);
  for (const value of [0, 1, 0xff, 0x1234_5678, 0x8000_0000, 2 ** 32 - 1]) {
    writeU32(buffer, 1, value);
    assert.equal(readU32(buffer, 1), value);
    assert.equal(buffer.readUInt32BE(1), value);
  }
  for (const value of [0, 1, 2 ** 32 - 1, 2 ** 32, 0x1234_5678_9abc, 2 ** 47, 2 ** 48 - 1]) {
    writeU48(buffer, 1, value);
    assert.equal(readU48(buffer, 1), value);
    assert.equal(buffer.readUIntBE(1, 6), value);
  }
});
