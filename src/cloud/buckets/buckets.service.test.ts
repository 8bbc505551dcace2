import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RestFields, RestReply } from '#client/rest.adapter.ts';
import type { ReadyCluster } from '../clusters/ready-cluster.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import { UnresponsiveNodeError } from '../node-client/refusals.ts';
import { clearAccessAndCreateBucket, deleteBucketAndAccess, updateBuckets } from './buckets.service.ts';

const mb = 1024 * 1024;

/** A node with buckets of 200 MB and 1000 MB in all. */
class FakeNode {
  readonly quotas = new Map(['a', 'b', 'c'].map((name) => [name, 200]));
  /** The bucket whose changes the node refuses. */
  refused = '';
  /** The node refuses these changes already when it only validates them. */
  refusesValidation = true;
  /** The node does not answer changes back to 200 MB. */
  failsUndo = false;
  /** The node makes the next change of this bucket without confirming it; `status`: of its answer, null: none. */
  unconfirmed: { name: string; status: number | null } | null = null;

  async request(_method: string, path: string): Promise<string> {
    const used = [...this.quotas.values()].reduce((sum, quota) => sum + quota, 0);
    const ram = { quotaTotalPerNode: 1000 * mb, quotaUsedPerNode: used * mb };
    if (path === '/pools/default') return JSON.stringify({ storageTotals: { ram } });
    const buckets = [...this.quotas].map(([name, quota]) => ({
      name,
      quota: { rawRAM: quota * mb },
      replicaNumber: 0,
      conflictResolutionType: 'seqno',
      nodes: [{ status: 'healthy' }],
    }));
    return JSON.stringify(buckets);
  }

  async send(_method: string, path: string, fields: RestFields): Promise<RestReply> {
    if (path.endsWith('/buckets')) return { status: 202, body: '' };
    const [, name, validates] = /\/buckets\/(\w)(\?just_validate=1)?$/.exec(path) as unknown as [
      string,
      string,
      string?,
    ];
    const quota = fields['ramQuotaMB'] as number | undefined;
    if (name === this.refused && (validates === undefined || this.refusesValidation)) {
      if (validates === undefined) this.refused = '';
      const errors = { ramQuotaMB: 'RAM quota cannot be set below current usage.' };
      return { status: 400, body: JSON.stringify({ errors }) };
    }
    if (this.failsUndo && validates === undefined && quota === 200) throw new Error('the node is gone');
    if (validates === undefined && quota !== undefined) this.quotas.set(name, quota);
    if (validates === undefined && name === this.unconfirmed?.name) {
      const { status } = this.unconfirmed;
      this.unconfirmed = null;
      if (status === null) throw new Error('no answer');
      return { status, body: 'The change may be lost' };
    }
    return { status: 200, body: '' };
  }
}

const client = (node: FakeNode) => node as unknown as NodeClient;
const requests = [
  { name: 'c', memoryQuota: 400 },
  { name: 'a', memoryQuota: 100 },
  { name: 'b', memoryQuota: 110 },
];

test('the service of buckets changes none of several buckets if the node’s validation refuses one', async () => {
  const node = new FakeNode();
  node.refused = 'b';
  const seen: number[] = [];
  const set = node.quotas.set.bind(node.quotas);
  node.quotas.set = (name, quota) => {
    seen.push(quota);
    return set(name, quota);
  };
  await assert.rejects(
    updateBuckets(client(node), requests),
    /^ApiError: memoryQuota: bucket "b": RAM quota cannot be set below current usage\.$/,
  );
  assert.deepEqual(seen, []);
});

test('the service of buckets undoes earlier changes if the node refuses a later one, and names those that it could not undo', async () => {
  const node = new FakeNode();
  node.refusesValidation = false;
  node.refused = 'c';
  await assert.rejects(updateBuckets(client(node), requests), /below current usage/);
  assert.deepEqual([...node.quotas.values()], [200, 200, 200]);
  node.refused = 'c';
  node.failsUndo = true;
  await assert.rejects(
    updateBuckets(client(node), requests),
    /below current usage.*; these buckets may have the new settings, because undoing failed \(the node is gone\): "b", "a"$/,
  );
  assert.deepEqual([...node.quotas.values()], [100, 110, 200]);
});

test('the service of buckets undoes also a change that the node made without confirming it', async () => {
  for (const status of [null, 503]) {
    const node = new FakeNode();
    node.unconfirmed = { name: 'c', status };
    await assert.rejects(updateBuckets(client(node), requests), /no answer$|503: The change may be lost$/);
    assert.deepEqual([...node.quotas.values()], [200, 200, 200]);
  }
});

test('the service of buckets changes buckets whose quota shrinks before those whose quota grows', async () => {
  const node = new FakeNode();
  node.quotas.set('b', 600);
  const first = await updateBuckets(client(node), requests);
  assert.deepEqual([first.memoryQuota, [...node.quotas.values()]], [400, [100, 110, 400]]);
});

test('the service of buckets deletes the access to a bucket when a repeated deletion gets 404, since the unanswered first one deleted the bucket', async () => {
  const removed: string[] = [];
  const noted: string[] = [];
  const users = {
    removeBucketAccess: async (_: unknown, name: string) => void removed.push(name),
    bucketDeletionUnconfirmed: async (_: unknown, name: string) => void noted.push(name),
  };
  const answers: (RestReply | null)[] = [null, { status: 404, body: '' }];
  const send = async (): Promise<RestReply> => {
    const answer = answers.shift();
    if (answer == null) throw new UnresponsiveNodeError('no answer');
    return answer;
  };
  const cluster = { client: { send } } as unknown as ReadyCluster;
  await assert.rejects(deleteBucketAndAccess(cluster, users, 'b'), /no answer/);
  assert.deepEqual([removed, noted], [[], ['b']]);
  await assert.rejects(deleteBucketAndAccess(cluster, users, 'b'), /there is no bucket "b"/);
  assert.deepEqual(removed, ['b']);
});

test('a new bucket does not have the users of an earlier one whose deletion was never answered', async () => {
  const node = new FakeNode();
  const removed: string[] = [];
  const users = {
    hasBucketAccess: async (_: unknown, name: string) => name !== 'other',
    removeBucketAccess: async (_: unknown, name: string) => void removed.push(name),
  };
  const cluster = { client: client(node) } as unknown as ReadyCluster;
  const spec = { memoryQuota: 100, replicas: 0, conflictResolution: 'seqno' } as const;
  for (const name of ['gone', 'a', 'other'])
    await clearAccessAndCreateBucket(cluster, users, { ...spec, name });
  assert.deepEqual(removed, ['gone']);
});
