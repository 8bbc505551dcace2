// Requests about sample buckets: what is refused, and how loads continue that failed or were interrupted.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Entry } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aManager } from '../../../test/support/manager.ts';
import { eventually } from '../../../test/support/node-process.ts';

const sample = 'travel-sample';
type Node = Awaited<ReturnType<typeof aManager>>;

const install = ({ request }: Node, json: unknown, as?: string) =>
  request('/sampleBuckets/install', { method: 'POST', json, ...(as && { as }) });
const listed = async ({ request }: Node) => (await request('/sampleBuckets')).body;
const loading = async ({ request }: Node) =>
  (await request('/pools/default/tasks')).body.filter(
    ({ type }: { type: string }) => type === 'loadingSampleBucket',
  );

/** The first read of the loads waits for the second, so that two requests see the same state. */
class StoreForTwo extends MemoryConfigStore {
  readonly #second = Promise.withResolvers<void>();
  #reads = 0;

  override async get<T>(key: string): Promise<Entry<T> | null> {
    if (key === 'settings/sampleLoads') {
      if (++this.#reads === 1) await this.#second.promise;
      else this.#second.resolve();
    }
    return await super.get<T>(key);
  }
}

/** Stores the first record of a load, and refuses the others while `isFull`. */
class FullStore extends MemoryConfigStore {
  isFull = true;
  #records = 0;

  override async put<T>(key: string, value: T, expected: number): Promise<number | null> {
    if (key === 'settings/sampleLoads' && ++this.#records > 1 && this.isFull)
      throw new Error('the disk is full');
    return await super.put(key, value, expected);
  }
}

/** Runs `afterRecord` once the first record of a load is stored, before the bucket is created. */
class HookedStore extends MemoryConfigStore {
  afterRecord: (() => Promise<unknown>) | null = null;

  override async put<T>(key: string, value: T, expected: number): Promise<number | null> {
    const revision = await super.put(key, value, expected);
    const { afterRecord } = this;
    if (key === 'settings/sampleLoads' && afterRecord !== null) {
      this.afterRecord = null;
      await afterRecord();
    }
    return revision;
  }
}

/** Advances the clock until the load has failed, since the node has no data port. */
async function untilFailed(node: Node): Promise<void> {
  await eventually(async () => {
    node.clock.advance(30_000);
    assert.deepEqual(await loading(node), []);
  });
}

describe('sample buckets', () => {
  it('are listed with the quota that they need', async () => {
    const node = await aManager();
    assert.deepEqual(await listed(node), [{ name: sample, installed: false, quotaNeeded: 104_857_600 }]);
    await node.manager.stop();
  });

  it('are refused with the published texts', async () => {
    const node = await aManager();
    const { request } = node;
    for (const json of [{}, 'travel-sample', [1], null]) {
      const { status, body } = await install(node, json);
      assert.deepEqual([status, body], [400, ['A [list] of names must be specified.']]);
    }
    assert.equal((await request('/sampleBuckets/install', { raw: '[' })).status, 400);
    await request('/pools/default/buckets', { form: { name: 'Other', ramQuotaMB: 100 } });
    const { status, body } = await install(node, ['none', 'other', '__proto__']);
    assert.equal(status, 400);
    assert.deepEqual(body, [
      'Sample none is not a valid sample.',
      'Sample bucket other is already loaded.',
      'Sample __proto__ is not a valid sample.',
    ]);
    await request('/pools/default/buckets', { form: { name: 'large', ramQuotaMB: 850 } });
    assert.deepEqual((await install(node, [sample])).body, [
      'Not enough Quota, you need to allocate 100MB to install sample buckets',
    ]);
    assert.deepEqual(await loading(node), []);
    await node.manager.stop();
  });

  it('need the permission to create buckets', async () => {
    const node = await aManager();
    const form = { password: 'secret1', roles: 'ro_admin' };
    await node.request('/settings/rbac/users/local/reader', { method: 'PUT', form });
    assert.equal((await install(node, [sample], 'reader:secret1')).status, 403);
    assert.equal((await node.request('/sampleBuckets', { as: 'reader:secret1' })).status, 200);
    await node.manager.stop();
  });

  it('show a task while they are loaded, and are refused a second time', async () => {
    const node = await aManager();
    const { status, body } = await install(node, [sample, sample]);
    assert.deepEqual([status, body], [202, []]);
    const [task, ...others] = await loading(node);
    assert.deepEqual([task.status, task.bucket, others], ['running', sample, []]);
    assert.equal((await listed(node))[0].installed, false);
    const again = await install(node, [sample]);
    assert.deepEqual([again.status, again.body], [400, [`Sample bucket ${sample} is being loaded.`]]);
    await node.manager.stop();
  });

  it('are loaded once when two requests come together', async () => {
    const node = await aManager({ store: new StoreForTwo() });
    const answers = await Promise.all([install(node, [sample]), install(node, [sample])]);
    const bodies = answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`).sort();
    assert.deepEqual(bodies, ['202 []', `400 ["Sample bucket ${sample} is being loaded."]`]);
    assert.equal((await loading(node)).length, 1);
    await node.manager.stop();
  });

  it('are not loaded into a bucket of the same name that another request created first', async () => {
    const store = new HookedStore();
    const node = await aManager({ store });
    const create = { form: { name: sample, ramQuotaMB: 100 } };
    store.afterRecord = async () => await node.request('/pools/default/buckets', create);
    const { status, text } = await install(node, [sample]);
    assert.deepEqual([status, /given name already exists/.test(text)], [400, true]);
    assert.deepEqual([await loading(node), (await listed(node))[0].installed], [[], true]);
    await node.manager.stop();
  });

  it('count as loading, not as installed, while the id of their bucket cannot be stored', async () => {
    const store = new FullStore();
    const node = await aManager({ store });
    assert.equal((await install(node, [sample])).status, 202);
    assert.equal((await node.request(`/pools/default/buckets/${sample}`)).status, 200);
    node.clock.advance(30_000);
    assert.deepEqual([(await listed(node))[0].installed, (await loading(node)).length], [false, 1]);
    store.isFull = false;
    await untilFailed(node);
    assert.deepEqual(
      [(await listed(node))[0].installed, (await install(node, [sample])).status],
      [false, 202],
    );
    await node.manager.stop();
  });

  it('are accepted again after a load that failed, whose bucket is kept', async () => {
    const node = await aManager();
    await install(node, [sample]);
    const { uuid } = (await node.request(`/pools/default/buckets/${sample}`)).body;
    await untilFailed(node);
    assert.equal((await listed(node))[0].installed, false);
    const { list } = (await node.request('/logs')).body;
    assert.match(list.at(-1).text, /^Loading sample bucket travel-sample failed: there is no data port/);
    assert.equal((await install(node, [sample])).status, 202);
    assert.equal((await node.request(`/pools/default/buckets/${sample}`)).body.uuid, uuid);
    assert.equal((await loading(node)).length, 1);
    await node.manager.stop();
  });

  it('are no longer loaded when their bucket is deleted, and can then be installed again', async () => {
    const node = await aManager();
    await install(node, [sample]);
    const { uuid } = (await node.request(`/pools/default/buckets/${sample}`)).body;
    await node.request(`/pools/default/buckets/${sample}`, { method: 'DELETE' });
    await untilFailed(node);
    assert.equal((await install(node, [sample])).status, 202);
    assert.notEqual((await node.request(`/pools/default/buckets/${sample}`)).body.uuid, uuid);
    await node.manager.stop();
  });

  it('are continued by their node when it starts again', async () => {
    const store = new MemoryConfigStore();
    const first = await aManager({ store });
    await install(first, [sample]);
    await first.manager.stop();
    const second = await aManager({ store, provisioned: false });
    assert.equal((await loading(second)).length, 1);
    await untilFailed(second);
    const { list } = (await second.request('/logs')).body;
    assert.match(list.at(-1).text, /^Loading sample bucket travel-sample failed/);
    await second.manager.stop();
  });

  it('leave nothing when the bucket is refused', async () => {
    const node = await aManager();
    await node.request('/internalSettings', { form: { maxBucketCount: 1 } });
    await node.request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
    const { status, text } = await install(node, [sample]);
    assert.equal(status, 400);
    assert.match(text, /Cannot create more than 1 buckets/);
    assert.deepEqual(await loading(node), []);
    await node.manager.stop();
  });
});
