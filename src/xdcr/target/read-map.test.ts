import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TargetAccess } from '../xdcr.contract.ts';
import { type CallRest, readTargetMap } from './read-map.ts';

const access: TargetAccess = {
  clusterUuid: 'target',
  hosts: ['left:8091', 'stayed:8091'],
  username: 'u',
  password: 'p',
  encryptsData: false,
  usesAlternateAddresses: false,
};

/** Calls nodes that belong to these clusters; each has a bucket whose uuid is the name of the node. */
function clusters(clusterOf: Readonly<Record<string, unknown>>): CallRest {
  return async ({ host }, _method, path) => {
    const bucket = {
      uuid: host,
      nodesExt: [{ services: { mgmt: 8091, kv: 11_210 } }],
      vBucketServerMap: { vBucketMap: [[0]] },
    };
    const body = path === '/pools' ? { uuid: clusterOf[host] } : bucket;
    return { status: 200, body: JSON.stringify(body) } as Awaited<ReturnType<CallRest>>;
  };
}

test('the map of a bucket comes from a node of the cluster, and not from one that belongs to another cluster now', async () => {
  const { bucketUuid } = await readTargetMap(clusters({ left: 'other', stayed: 'target' }), access, 'b');
  assert.equal(bucketUuid, 'stayed');
});

test('no map is read while all addresses belong to other clusters or to nodes without a map', async () => {
  const reading = readTargetMap(clusters({ left: [], stayed: 'other' }), access, 'b');
  await assert.rejects(reading, { message: 'stayed:8091: the node belongs to another cluster now' });
});
