import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainAddress } from './address.ts';

test('knows an IPv4 client of a dual-stack socket by its IPv4 address, and leaves others as they are', () => {
  const plain: Record<string, string> = {
    '::ffff:10.1.2.3': '10.1.2.3',
    '::FFFF:127.0.0.1': '127.0.0.1',
    '10.1.2.3': '10.1.2.3',
    '::1': '::1',
    '::ffff:a01:203': '::ffff:a01:203',
    'fd12::ffff:1': 'fd12::ffff:1',
    '': '',
  };
  for (const [address, expected] of Object.entries(plain)) assert.equal(plainAddress(address), expected);
});
