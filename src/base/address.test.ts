import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAddress, plainAddress, sourceOf } from './address.ts';

test('an address of a dual-stack socket loses its IPv4-mapped prefix, and other addresses stay as they are', () => {
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

test('an IPv6 address has its /64 network in every notation', () => {
  const networks: Record<string, string> = {
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::',
    '2001:DB8:1:2::9': '2001:db8:1:2::',
    '2001:0db8:0001:2:ffff::': '2001:db8:1:2::',
    '2001:db8::1': '2001:db8:0:0::',
    'fe80::1%eth0': 'fe80:0:0:0::',
    '::1': '0:0:0:0::',
    '::': '0:0:0:0::',
    '::ffff:10.1.2.3': '10.1.2.3',
    '10.1.2.3': '10.1.2.3',
    '': '',
  };
  for (const [address, expected] of Object.entries(networks)) assert.equal(sourceOf(address), expected);
});

test('isAddress distinguishes addresses from names', () => {
  for (const address of ['127.0.0.1', '10.20.30.40', '::1', 'fe80::1'])
    assert.ok(isAddress(address), address);
  for (const name of ['localhost', 'db1.example.com', '10.example', 'n1']) assert.ok(!isAddress(name), name);
});
