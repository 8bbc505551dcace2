import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Context } from '#contract/route.ts';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { indexMetrics } from './index-metrics.ts';
import { indexRoutes } from './indexes.routes.ts';
import { noIndexService } from './no-index-service.ts';

const definition = { ...aDefinition(['`n`']), replicas: 0 };

/** What a node shows of an index that other nodes have. */
async function shownBy(services: ('kv' | 'index')[], others: readonly object[], isBuilt = true) {
  const view = { self: nodeNamed('own', { services }), cluster: aCluster() };
  const indexes = { all: () => [{ definition, isBuilt }] };
  const settings = { read: async (_: string, initial: unknown) => initial };
  const indexNodes = { onOtherNodes: async () => new Map([[definition.id, others]]) };
  const parts = { indexes, indexAdmin: noIndexService, view, settings, indexNodes } as never;
  const [route] = indexRoutes(parts);
  const answer = await route?.handler(
    {} as never,
    { local: { address: 'own' }, may: () => true } as unknown as Context,
  );
  const [shown] = (answer as unknown as { value: { indexes: Record<string, unknown>[] } }).value.indexes;
  const { hosts, partitionMap, status, progress, lastScanTime, stale } = shown ?? {};
  const metrics = [...(await indexMetrics(parts))];
  return { hosts, partitionMap, status, progress, lastScanTime, stale, metrics: metrics.length > 0 };
}

test('a node without the index service shows the indexes of the other nodes, and itself not as a host', async () => {
  const lastScanMs = Date.UTC(2030, 0, 1);
  const onOther = { node: nodeNamed('other'), state: 'online', progress: 100, lastScanMs };
  assert.deepEqual(await shownBy(['kv'], [onOther]), {
    hosts: ['other:8091'],
    partitionMap: { 'other:8091': [0] },
    status: 'Ready',
    progress: 100,
    lastScanTime: 'Tue, 01 Jan 2030 00:00:00 GMT',
    stale: false,
    metrics: false,
  });
  const shown = await shownBy(['kv', 'index'], [onOther]);
  assert.deepEqual([shown.hosts, shown.metrics], [['own:8091', 'other:8091'], true]);
});

test('the state of an index is not known where none of its nodes is reached', async () => {
  const shown = await shownBy(['kv'], []);
  assert.deepEqual([shown.hosts, shown.status, shown.progress, shown.stale], [[], 'Error', 0, true]);
  assert.equal((await shownBy(['kv'], [], false)).status, 'Created');
});
