// Concurrent changes of one replication.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import {
  aNodeWithTarget,
  replicationId as id,
  reference,
  referencesPath,
  replication,
} from '../../../test/support/xdcr-manager.ts';

/** Lets no request read the replications for its change before two requests have checked their forms. */
class BarrierStore extends MemoryConfigStore {
  #both: PromiseWithResolvers<void> | null = null;
  #waiting = 0;

  expectTwo(): void {
    this.#both = Promise.withResolvers<void>();
  }

  override async get<T>(key: string): Promise<Entry<T> | null> {
    if (key === 'settings/xdcr' && this.#both !== null) {
      if (++this.#waiting === 2) this.#both.resolve();
      await this.#both.promise;
    }
    return super.get<T>(key);
  }
}

const path = `/settings/replications/${encodeURIComponent(id)}`;

test('the node keeps the changes of concurrent requests to different parts of a mapping', async () => {
  const store = new BarrierStore();
  const { post, request } = await aNodeWithTarget({}, { store });
  await post(referencesPath, reference);
  const created = await post('/controller/createReplication', {
    ...replication,
    collectionsExplicitMapping: 'true',
    colMappingRules: '{"_default":"t"}',
  });
  assert.equal(created.status, 200);
  store.expectTwo();
  const [mode, rules] = await Promise.all([
    post(path, { collectionsExplicitMapping: 'false' }),
    post(path, { colMappingRules: '{"_default":"u"}' }),
  ]);
  assert.deepEqual([mode.status, rules.status], [200, 200]);
  const { body } = await request(path);
  assert.deepEqual([body.collectionsExplicitMapping, body.colMappingRules], [false, { _default: 'u' }]);
});

test('the node refuses one of two concurrent changes that are valid alone but not together', async () => {
  const store = new BarrierStore();
  const { post, request } = await aNodeWithTarget({}, { store });
  await post(referencesPath, reference);
  const form = { ...replication, filterDeletion: 'true', filterExpression: 'META().id > "a"' };
  assert.equal((await post('/controller/createReplication', form)).status, 200);
  store.expectTwo();
  const answers = await Promise.all([
    post(path, { filterDeletionsWithExpression: 'true' }),
    post(path, { filterDeletion: 'false' }),
  ]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
  const { body } = await request(path);
  assert.equal(body.filterDeletionsWithExpression && !body.filterDeletion, false);
});

/** Changes of the replications reach this node, which is connected to another founder, only later. */
class LateStore extends MemoryConfigStore {
  isLate = false;
  puts = 0;

  override watch(prefix: string, changed: (key: string, entry: Entry | null) => void) {
    return super.watch(prefix, (key, entry) => {
      if (key !== 'settings/xdcr' || !this.isLate) changed(key, entry);
    });
  }

  override put<T>(key: string, value: T, revision: number): Promise<number | null> {
    if (key === 'settings/xdcr') assert.ok(++this.puts < 10, 'the change is tried without end');
    return super.put(key, value, revision);
  }
}

test('a change does not wait for this node to receive the changes of other nodes', async () => {
  const store = new LateStore();
  const { post, request } = await aNodeWithTarget({}, { store });
  await post(referencesPath, reference);
  assert.equal((await post('/controller/createReplication', replication)).status, 200);
  store.isLate = true;
  assert.equal((await post(path, { checkpointInterval: '100' })).status, 200);
  store.puts = 0;
  const changed = await post(path, { statsInterval: '2000' });
  assert.equal(changed.status, 200);
  store.isLate = false;
  assert.equal((await post(path, { pauseRequested: 'true' })).status, 200);
  const { body } = await request(path);
  assert.deepEqual([body.checkpointInterval, body.statsInterval, body.pauseRequested], [100, 2_000, true]);
});
