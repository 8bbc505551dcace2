import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeOptions } from './node-options.ts';
import { dataPortOf, queryPortOf } from './port-of-error.ts';

test('the option of a failed port is found, also where another port begins with the same digits', () => {
  const options = {
    'kv-port': 11210,
    'kv-tls-port': 1121,
    'replication-port': 112,
    'query-port': 18093,
    'query-tls-port': 1809,
  } as NodeOptions;
  const inUse = (port: number) => new Error(`listen EADDRINUSE: address already in use 127.0.0.1:${port}`);
  for (const option of ['kv-port', 'kv-tls-port', 'replication-port'] as const)
    assert.equal(dataPortOf(options, inUse(options[option])), option);
  for (const option of ['query-port', 'query-tls-port'] as const)
    assert.equal(queryPortOf(options, inUse(options[option])), option);
});
