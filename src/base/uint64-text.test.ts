import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uint64OfText } from './uint64-text.ts';

test('a number of 64 bits is read from signed and unsigned text', () => {
  assert.equal(uint64OfText('0'), 0n);
  assert.equal(uint64OfText('18446744073709551615'), 2n ** 64n - 1n);
  assert.equal(uint64OfText('-1'), 2n ** 64n - 1n);
  assert.equal(uint64OfText('-9223372036854775808'), 2n ** 63n);
  for (const wrong of ['', '-', '+1', '1.0', '0x1', ' 1', '18446744073709551616', '-9223372036854775809'])
    assert.equal(uint64OfText(wrong), null, wrong);
});
