import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostAndPortOf } from './host-and-port.ts';

test('the parser of host and port splits names, IPv4 and IPv6 addresses from their ports', () => {
  assert.deepEqual(hostAndPortOf('db.example.com:8091'), { host: 'db.example.com', port: 8091 });
  assert.deepEqual(hostAndPortOf('127.0.0.1:1'), { host: '127.0.0.1', port: 1 });
  assert.deepEqual(hostAndPortOf('[::1]:18091'), { host: '::1', port: 18091 });
});
