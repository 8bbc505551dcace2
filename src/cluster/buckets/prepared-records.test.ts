// Records are encoded once for each state of the configuration: nothing in them may be older than the configuration and the figures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

const path = '/pools/default/buckets/b';
const list = '/pools/default/buckets';

type Manager = Awaited<ReturnType<typeof aManager>>;
// biome-ignore lint/suspicious/noExplicitAny: the record as a client reads it
type Record = any;

async function aBucket(form: { [field: string]: string | number } = {}): Promise<Manager> {
  const node = await aManager();
  await node.request(list, { form: { name: 'b', ramQuotaMB: 100, replicaNumber: 0, ...form } });
  return node;
}

/** The record, which the list contains as well. */
async function recordOf({ request }: Manager): Promise<Record> {
  const one = await request(path);
  const all = await request(list);
  assert.equal(all.text, `[${one.text}]`);
  return one.body;
}

test('the next answer shows each changed setting of a bucket', async (t) => {
  const node = await aBucket();
  const changes: [
    form: { [field: string]: string | number },
    shown: (record: Record) => unknown,
    now: unknown,
  ][] = [
    [{ ramQuotaMB: 128 }, ({ quota }) => quota.ram, 128 * 1024 * 1024],
    [{ replicaNumber: 1 }, ({ replicaNumber }) => replicaNumber, 1],
    [{ replicaNumber: 2 }, ({ vBucketServerMap }) => vBucketServerMap.numReplicas, 2],
    [{ evictionPolicy: 'fullEviction' }, ({ evictionPolicy }) => evictionPolicy, 'fullEviction'],
    [{ threadsNumber: 8 }, ({ threadsNumber }) => threadsNumber, 8],
    [{ maxTTL: 77 }, ({ maxTTL }) => maxTTL, 77],
    [{ compressionMode: 'off' }, ({ compressionMode }) => compressionMode, 'off'],
    [{ flushEnabled: 1 }, ({ controllers }) => controllers.flush, `${path}/controller/doFlush`],
    [
      { autoCompactionDefined: 'true', parallelDBAndViewCompaction: 'false', purgeInterval: 2 },
      ({ purgeInterval, autoCompactionSettings }) => [purgeInterval, autoCompactionSettings !== false],
      [2, true],
    ],
  ];
  t.plan(2 * changes.length);
  for (const [form, shown, now] of changes) {
    t.assert.notDeepEqual(shown(await recordOf(node)), now);
    const { status, text } = await node.request(`${path}?ignore_warnings=1`, { form });
    assert.equal(status, 200, text);
    t.assert.deepEqual(shown(await recordOf(node)), now, JSON.stringify(form));
  }
});

test('the next answer shows each change of the node and of the collections', async (t) => {
  const node = await aBucket();
  const groups = (await node.request('/pools/default/serverGroups')).body.groups;
  const changes: [path: string, request: object, shown: (record: Record) => unknown][] = [
    [
      `${path}/scopes/_default/collections`,
      { form: { name: 'c' } },
      (record) => record.collectionsManifestUid,
    ],
    ['/node/controller/rename', { form: { hostname: 'node.example.com' } }, ({ nodes }) => nodes[0].hostname],
    [
      '/node/controller/setupAlternateAddresses/external',
      { method: 'PUT', form: { hostname: 'outside.example.com' } },
      ({ nodes }) => nodes[0].alternateAddresses?.external.hostname,
    ],
    [groups[0].uri, { method: 'PUT', form: { name: 'Rack 1' } }, ({ nodes }) => nodes[0].serverGroup],
  ];
  t.plan(changes.length);
  for (const [changed, request, shown] of changes) {
    const before = shown(await recordOf(node));
    const { status, text } = await node.request(changed, request);
    assert.ok(status < 300, `${changed}: ${status} ${text}`);
    t.assert.notDeepEqual(shown(await recordOf(node)), before, changed);
  }
});

test('figures are those of the moment of the answer', async () => {
  const node = await aBucket();
  for (const items of [3, 4]) {
    node.kv.figures['b'] = { items, dataBytes: 100, freeDiskBytes: 100 * items };
    const { basicStats, nodes, fragmentationPercentage } = await recordOf(node);
    assert.deepEqual(
      [basicStats.itemCount, nodes[0].interestingStats.curr_items, fragmentationPercentage],
      [items, items, Math.round((100 * items) / (items + 1))],
    );
  }
});

test('a bucket that was deleted and created again has no record of the earlier bucket', async () => {
  const node = await aBucket();
  const before = await recordOf(node);
  await node.request(path, { method: 'DELETE' });
  await node.request(list, { form: { name: 'b', ramQuotaMB: 100, replicaNumber: 0 } });
  const after = await recordOf(node);
  assert.notEqual(after.uuid, before.uuid);
  assert.ok(after.nodes[0].couchApiBase.endsWith(after.uuid));
});
