import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthOf } from './cluster-health.ts';
import type { NodeClient } from './node-client.ts';
import { UnresponsiveNodeError } from './refusals.ts';

/** A client of a node whose health requests have this outcome. */
const answering = (requestHealth: () => Promise<string>) => ({ requestHealth }) as unknown as NodeClient;

test('the health check reports a node that does not answer as unhealthy, with the reason', async () => {
  const unresponsive = answering(() => Promise.reject(new UnresponsiveNodeError('it is being started')));
  const { health, reason, nodeStats } = await healthOf([unresponsive], ['127.64.0.1']);
  assert.deepEqual(
    [health, reason, nodeStats?.unhealthyCount],
    ['unhealthy', 'the cluster’s node does not answer: it is being started', 1],
  );
});

test('the health check throws for a programming error or a malformed answer instead of reporting an unhealthy node', async () => {
  const fault = answering(() => Promise.reject(new TypeError('a bug')));
  await assert.rejects(healthOf([fault], ['127.64.0.1']), TypeError);
  await assert.rejects(healthOf([answering(async () => 'what is this')], ['127.64.0.1']), SyntaxError);
});

const node = (hostname: string, change: object = {}) => ({
  hostname,
  status: 'healthy',
  services: ['kv'],
  clusterMembership: 'active',
  ...change,
});

/** A client of a node that answers about a cluster. */
const about = (cluster: object, buckets: readonly object[] = []) =>
  ({
    requestHealth: async (path: string) =>
      JSON.stringify(path.endsWith('buckets') ? buckets : { balanced: true, ...cluster }),
  }) as unknown as NodeClient;

/** `replication`: the share of the copies that are in sync, as nodes report it. */
const bucket = (replicaNumber: number, replication: number) => ({
  name: 'b',
  replicaNumber,
  nodes: [{ status: 'healthy', replication }],
});

test('a cluster is healthy only with all nodes active, documents balanced, and all possible copies in sync', async () => {
  const nodes = [node('a:1'), node('b:1')];
  const cases: [object, object[], string | undefined][] = [
    [{ nodes }, [], undefined],
    [{ nodes: [node('a:1'), node('b:1', { status: 'warmup' })] }, [], 'node b:1 is warmup'],
    [
      { nodes: [node('a:1'), node('b:1', { clusterMembership: 'inactiveFailed' })] },
      [],
      'node b:1 is inactiveFailed, not active',
    ],
    [{ nodes: [node('a:1')] }, [], 'the cluster has 1 node instead of 2'],
    [{ nodes, balanced: false }, [], 'the documents are not balanced over the nodes'],
    [{ nodes }, [bucket(1, 0.9)], 'copies of bucket "b" are not in sync yet'],
    [{ nodes }, [bucket(1, 1)], undefined],
    [{ nodes }, [bucket(0, 1)], undefined],
    // Two nodes can have one of three copies.
    [{ nodes }, [bucket(3, 1 / 3)], undefined],
    [{ nodes }, [bucket(3, 0.3)], 'copies of bucket "b" are not in sync yet'],
  ];
  for (const [cluster, buckets, reason] of cases) {
    const stats = await healthOf([about(cluster, buckets)], ['a', 'b']);
    assert.deepEqual(
      [stats.health, stats.reason],
      [reason === undefined ? 'healthy' : 'degraded', reason],
      JSON.stringify(cluster),
    );
  }
});

test('the health check asks other nodes about the cluster if the first does not answer', async () => {
  const dead = answering(() => Promise.reject(new UnresponsiveNodeError('it is being started')));
  const nodes = [node('a:1', { status: 'unhealthy' }), node('b:1')];
  const { health, reason, nodeStats } = await healthOf([dead, dead, about({ nodes })], ['a', 'b']);
  assert.deepEqual([health, reason, nodeStats.unhealthyCount], ['degraded', 'node a:1 is unhealthy', 1]);
});
