import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthOf } from './cluster-health.ts';
import type { NodeClient } from './node-client.ts';
import { UnresponsiveNodeError } from './refusals.ts';

const answering = (requestHealth: () => Promise<string>) => ({ requestHealth }) as unknown as NodeClient;

test('reports a node that does not answer as unhealthy, with the reason', async () => {
  const unresponsive = answering(() => Promise.reject(new UnresponsiveNodeError('it is being started')));
  const { health, reason, nodeStats } = await healthOf([unresponsive], ['127.64.0.1']);
  assert.deepEqual(
    [health, reason, nodeStats?.unhealthyCount],
    ['unhealthy', 'the cluster’s node does not answer: it is being started', 1],
  );
});

test('throws for a programming error or a malformed answer instead of reporting an unhealthy node', async () => {
  const fault = answering(() => Promise.reject(new TypeError('a bug')));
  await assert.rejects(healthOf([fault], ['127.64.0.1']), TypeError);
  await assert.rejects(healthOf([answering(async () => 'what is this')], ['127.64.0.1']), SyntaxError);
});
