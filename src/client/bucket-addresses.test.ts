import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dataAddresses } from './bucket-addresses.ts';

const config = {
  vBucketServerMap: { serverList: ['$HOST:11210', '10.0.0.2:11210', '[::1]:11210'], vBucketMap: [[0]] },
  nodesExt: [
    { services: { kv: 11210, kvSSL: 11207 } },
    { hostname: '10.0.0.2', services: { kv: 11210, kvSSL: 21207 } },
    { hostname: '::1', services: { kv: 11210 } },
    { hostname: '10.0.0.4', services: { n1ql: 8093 } },
  ],
};

test('the data ports are listed with and without TLS in the order of the map', () => {
  assert.deepEqual(dataAddresses(config, false), config.vBucketServerMap.serverList);
  assert.deepEqual(dataAddresses(config, true), ['$HOST:11207', '10.0.0.2:21207', undefined]);
  assert.deepEqual(
    dataAddresses({ ...config, nodesExt: [{ hostname: '::1', services: { kvSSL: 1 } }] }, true),
    ['[::1]:1', undefined, undefined],
  );
  assert.deepEqual(dataAddresses({}, true), []);
});
