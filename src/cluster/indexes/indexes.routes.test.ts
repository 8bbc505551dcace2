import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Context } from '#contract/route.ts';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { indexMetrics } from './index-metrics.ts';
import { indexRoutes } from './indexes.routes.ts';
import { noIndexService } from './no-index-service.ts';

const definition = { ...aDefinition(['`n`']), replicas: 0 };

/** What a node answers about an index that other nodes have. */
async function answerOf(services: ('kv' | 'index')[], others: readonly object[], isBuilt = true) {
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
  const { value } = answer as unknown as { value: { indexes: Record<string, unknown>[]; version: number } };
  return { ...value, metrics: [...(await indexMetrics(parts))] };
}

/** The record of the index, and whether the node has metrics of it. */
async function shownBy(...request: Parameters<typeof answerOf>) {
  const { indexes, metrics } = await answerOf(...request);
  const { hosts, partitionMap, status, progress, lastScanTime, stale } = indexes[0] ?? {};
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

test('the version of the list changes with the state of an index, and with nothing else', async () => {
  const versionOf = async (state: string) =>
    (await answerOf(['kv'], [{ node: nodeNamed('other'), state, progress: 100, lastScanMs: 0 }])).version;
  assert.equal(await versionOf('online'), await versionOf('online'));
  assert.notEqual(await versionOf('online'), await versionOf('building'));
});
