import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { BucketClients } from './bucket-clients.ts';
import { RequestConsistency } from './consistency.ts';

const orders: Keyspace = {
  name: { namespace: 'default', bucket: 'shop', scope: 's', collection: 'orders' },
  bucketUuid: 'u',
  scopeId: 8,
  collectionId: 9,
};
const vb = 3;
const uuid = 77n;
/** The newest change of the collection in its vbucket; other collections have later ones. */
const newestOfCollection = 20;

const clients = {
  clientOf: async () => ({
    failoverLogs: async (vbs: number[]) => new Map(vbs.map((of) => [of, [{ uuid, seqno: 0 }]])),
    highSeqnos: async (collectionId: number) => {
      assert.equal(collectionId, orders.collectionId);
      return new Float64Array(1024).fill(newestOfCollection);
    },
  }),
} as unknown as BucketClients;

async function wantedBy(name: string, seqno: number, keyspace = orders): Promise<unknown> {
  const scanVectors = new Map([[name, new Map([[vb, { seqno, uuid }]])]]);
  const wanted = { consistency: 'at_plus', scanVector: null, scanVectors } as const;
  const { signal } = new AbortController();
  const request = new RequestConsistency(wanted, clients, { clock: new ManualClock(), signal });
  const found = await request.consistencyOf(keyspace);
  return found.kind === 'at' ? [...found.vector] : found.kind;
}

test('the vector of a bucket, as SDKs send it, counts for all of its collections', async () => {
  const applied = [[vb, { seqno: 12, uuid }]];
  for (const name of ['shop', 'default:shop', '`shop`', 'shop.s.orders', 'default:shop.s.orders'])
    assert.deepEqual(await wantedBy(name, 12), applied, name);
  assert.equal(await wantedBy('other', 12), 'not_bounded');
  assert.equal(await wantedBy('shop.s.users', 12), 'not_bounded');
});

test('a scan does not wait for changes of other collections', async () => {
  assert.deepEqual(await wantedBy('shop', newestOfCollection + 5), [
    [vb, { seqno: newestOfCollection, uuid }],
  ]);
});
