import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseServers } from './nats-servers.ts';

test('one text has the servers, a login and whether to encrypt; its password is in no error', () => {
  assert.deepEqual(parseServers('nats://a,b:5,[::1]:6'), {
    addresses: [
      { host: 'a', port: 4222 },
      { host: 'b', port: 5 },
      { host: '::1', port: 6 },
    ],
    tls: false,
  });
  const { user, password, tls } = parseServers('tls://u%40x:p:%C3%A9@h:1');
  assert.deepEqual({ user, password, tls }, { user: 'u@x', password: 'p:é', tls: true });
  assert.equal(parseServers('nats://token@h').token, 'token');
  for (const wrong of [
    'nats://',
    'nats://h:0',
    'nats://h:99999',
    'nats://h,,i',
    'http://h',
    'nats://u:secret@',
    'nats://u:secret%off@h',
    'nats://u:secret%ff@h',
  ])
    assert.throws(
      () => parseServers(wrong),
      (error: Error) => /nats:\/\/host:4222/.test(error.message) && !error.message.includes('secret'),
    );
});
