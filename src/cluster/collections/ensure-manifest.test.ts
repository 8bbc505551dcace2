import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryCluster } from '../../../test/support/cluster.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { bucketsKey } from '../config/cluster-state.ts';
import { CollectionsService } from './collections.service.ts';

test('a manifest is waited for on a node that cannot be asked at first', async () => {
  const cluster = await memoryCluster();
  const { store, data, clock, view } = cluster;
  const record = { uuid: 'u', name: 'b', type: 'native', state: 'ready' };
  const entry = await store.get(bucketsKey);
  await store.put(bucketsKey, { memoryQuotaMb: 100, byUuid: { u: record } }, entry?.revision ?? 0);
  assert.ok(view.liveBucket('b'));
  const service = new CollectionsService(cluster);
  data.hasApplied = false;
  const { signal } = new AbortController();
  const ensured = service.ensure('b', 0, 5_000, signal);
  await eventually(() => assert.equal(clock.pending, 1));
  data.hasApplied = true;
  clock.advance(500);
  await ensured;
  data.hasApplied = false;
  const never = service.ensure('b', 0, 1_000, signal);
  const refused = assert.rejects(never, { status: 504 });
  for (let times = 0; times < 2; times++) {
    await eventually(() => assert.equal(clock.pending, 1));
    clock.advance(500);
  }
  await refused;
});
