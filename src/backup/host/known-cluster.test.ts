// A job on the own cluster: it waits until a bucket that it created has its vbuckets on nodes, and then uses the newest layout.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterLayout } from '#client/cluster-routes.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { KnownCluster } from './known-cluster.ts';

const tls = { certificate: '', key: '', authority: '' };
const withBuckets = (...buckets: string[]): ClusterLayout => ({
  self: 'a',
  tls,
  nodes: [{ node: 'b', host: 'b', port: 1 }],
  actives: Object.fromEntries(buckets.map((bucket) => [bucket, ['a', 'b']])),
});
const account = { host: 'h', port: 1, username: 'u', password: 'p' };

test('a job waits for a bucket that it created, in a cluster of several nodes', async () => {
  const clock = new ManualClock();
  const cluster = new KnownCluster(clock);
  const layout = withBuckets('old');
  const address = { host: 'h', port: 1, timeoutMs: 1 };
  const { ownCluster } = cluster.accessOf({ ...account, ownCluster: { address, layout } });
  assert.equal(await ownCluster?.layoutWith?.('old'), layout);
  const waited = ownCluster?.layoutWith?.('new');
  cluster.follow(withBuckets('old', 'other'));
  const next = withBuckets('old', 'new');
  cluster.follow(next);
  assert.equal(await waited, next);
  const late = assert.rejects(async () => ownCluster?.layoutWith?.('none'), /bucket "none" has no vbuckets/);
  clock.advance(30_000);
  await late;
  cluster.follow(null);
  assert.equal(await ownCluster?.layoutWith?.('none'), null);
});

test('a job waits for nothing on a single node, and the access to another cluster is not changed', async () => {
  const cluster = new KnownCluster(new ManualClock());
  const address = { host: 'h', port: 1, timeoutMs: 1 };
  const { ownCluster } = cluster.accessOf({ ...account, ownCluster: { address, layout: null } });
  assert.equal(await ownCluster?.layoutWith?.('new'), null);
  assert.equal(cluster.accessOf(account), account);
});
