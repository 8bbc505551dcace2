import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add64, number64, readDecimal, subtract64, writeDecimal } from './decimal.ts';

const parse = (text: string) => readDecimal(Buffer.from(text), 0, text.length);
const value = () => (BigInt(number64.hi) << 32n) | BigInt(number64.lo);
const put = (n: bigint) => {
  number64.hi = Number(n >> 32n);
  number64.lo = Number(n & 0xffffffffn);
};
const numbers = [
  0n,
  1n,
  9n,
  10n,
  4294967295n,
  4294967296n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
  12345678901234567890n,
];

test('decimal text is read and written up to 2^64 - 1', () => {
  for (const n of numbers) {
    assert.ok(parse(String(n)));
    assert.equal(value(), n);
    const buffer = Buffer.alloc(24);
    assert.equal(buffer.toString('latin1', 2, writeDecimal(buffer, 2)), String(n));
  }
});

test('text that is not an unsigned 64-bit number is refused', () => {
  for (const text of [
    '',
    '-1',
    ' 1',
    '1 ',
    '1.0',
    'x',
    '18446744073709551616',
    '99999999999999999999',
    '1'.repeat(21),
  ]) {
    assert.equal(parse(text), false, text);
  }
});

test('a sum wraps around, and a difference ends at zero', () => {
  for (const a of numbers) {
    for (const b of numbers) {
      put(a);
      add64(Number(b >> 32n), Number(b & 0xffffffffn));
      assert.equal(value(), (a + b) % 2n ** 64n);
      put(a);
      subtract64(Number(b >> 32n), Number(b & 0xffffffffn));
      assert.equal(value(), a > b ? a - b : 0n);
    }
  }
});
