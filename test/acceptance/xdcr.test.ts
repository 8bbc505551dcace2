// Replication between two clusters of one node each: what arrives is exactly what was sent. The tests share the nodes, not their buckets.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { Status } from '#wire/status.ts';
import { PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { eventually, type NodeProcess } from '../support/node-process.ts';
import { ReplicatingPair } from '../support/replicating-pair.ts';
import {
  bodyOf,
  clientOf,
  contentOf,
  createReplication,
  jsonFlags,
  metaWrites,
  referenceTo,
  replicate,
  replicationFigure,
  taskOf,
  whenContents,
  whenEqual,
} from '../support/xdcr.ts';

const timeout = 600_000;
const otherFlags = 17;
/** How many lengths the values of documents have. */
const lengths = 300;
/** A flag of a sub-document write, which then creates the document. */
const createDocument = 0x01;

const pair = ReplicatingPair.forTests();

async function createCollections(node: NodeProcess, names: readonly string[]): Promise<void> {
  await node.request('/pools/default/buckets/b/scopes', 'POST', { name: 's' });
  for (const name of names)
    await node.request('/pools/default/buckets/b/scopes/s/collections', 'POST', { name }).then(bodyOf);
}

const aDocument = (index: number): StoreRequest => ({
  kind: 'set',
  key: `key-${index}`,
  value: Buffer.from(JSON.stringify({ index, text: 'x'.repeat(index % lengths) })),
  flags: index % 3 === 0 ? otherFlags : jsonFlags,
  expiry: index % 5 === 0 ? Math.floor(Date.now() / 1000) + 100_000 + index : 0,
  cas: 0n,
});

async function store(node: NodeProcess, collection: string | null, requests: readonly StoreRequest[]) {
  const client = await clientOf(node);
  const id = collection === null ? 0 : ((await client.collectionId('s', collection)) as number);
  let left = requests;
  // As SDKs do while a bucket warms up.
  await eventually(async () => {
    const replies = await client.storeMany(id, left);
    left = left.filter((_, index) => replies[index]?.status !== Status.success);
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [Status.success]);
  });
  client.close();
}

const range = (from: number, to: number): StoreRequest[] =>
  Array.from({ length: to - from }, (_, index) => aDocument(from + index));

test('the documents of several collections arrive with all their metadata', { timeout }, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  const names = ['one', 'two', 'three'];
  for (const node of [source, target]) await createCollections(node, names);
  // Every length once, every kind of flags and expiry several times. The long values, of random bytes, are more than the 4 MB that may be on
  // their way.
  const all = range(0, lengths);
  const long = range(lengths, lengths + 100).map((one) => ({ ...one, value: randomBytes(50_000) }));
  for (const name of [null, ...names]) await store(source, name, all);
  await store(source, 'one', long);
  await replicate(source, target);
  const first = await whenEqual(source, target);
  assert.equal(first.size, 4 * lengths + 100);
  // Live: changes, deletions, binary values.
  await store(
    source,
    'two',
    all.slice(0, 100).map((one) => ({ ...one, value: Buffer.from([1, 2, 3, 255]) })),
  );
  await store(
    source,
    'three',
    all.slice(0, 100).map((one) => ({ ...one, kind: 'remove' as const, value: Buffer.alloc(0) })),
  );
  await whenEqual(source, target);
  const written = first.size + 200;
  await eventually(async () => {
    const task = await taskOf(source);
    assert.deepEqual([task.status, task.changesLeft, task.errors], ['running', 0, []]);
    assert.equal(task.docsWritten, written);
  });
  const { id } = await taskOf(source);
  const figure = (name: string) => replicationFigure(source, id, name);
  await eventually(async () => {
    assert.deepEqual(
      await Promise.all(['docs_written', 'changes_left', 'docs_filtered', 'rate_replicated'].map(figure)),
      [written, 0, 0, 0],
    );
  });
  assert.equal(await figure('nothing_of_this_name'), undefined);
});

test('a replication that was paused, or deleted and created anew, continues where it was', {
  timeout,
}, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  await store(source, null, range(0, 300));
  // The first report comes at once, not after the interval of the figures.
  const id = await replicate(source, target, { statsInterval: '600000' });
  await eventually(async () => assert.equal((await taskOf(source)).status, 'running'));
  const path = `/settings/replications/${encodeURIComponent(id)}`;
  await source.request(path, 'POST', { statsInterval: '200' }).then(bodyOf);
  await whenEqual(source, target);
  const settings = `/settings/replications/${encodeURIComponent(id)}`;
  await source.request(settings, 'POST', { pauseRequested: 'true' }).then(bodyOf);
  await eventually(async () => assert.equal((await taskOf(source)).status, 'paused'));
  await store(source, null, range(300, 400));
  await eventually(async () => assert.equal((await taskOf(source)).changesLeft, 100));
  assert.equal((await contentOf(target)).size, 300);
  await source.request(settings, 'POST', { pauseRequested: 'false' }).then(bodyOf);
  await whenEqual(source, target);
  await source.request((await taskOf(source)).cancelURI, 'DELETE').then(bodyOf);
  await store(source, null, range(400, 440));
  const before = await metaWrites(target);
  await createReplication(source);
  await whenEqual(source, target);
  // A full replication would be 440 writes.
  assert.equal((await metaWrites(target)) - before, 40);
});

test('nothing is lost when the source and the target are killed and started again', { timeout }, async () => {
  await pair.createBuckets();
  await store(pair.source, null, range(0, 500));
  await replicate(pair.source, pair.target);
  await pair.kill('target');
  await store(pair.source, null, range(500, 1000));
  await pair.start('target');
  await whenEqual(pair.source, pair.target);
  await store(
    pair.source,
    null,
    range(0, 1000).map((one) => ({ ...one, value: Buffer.from('{"v":2}') })),
  );
  await pair.kill('source');
  await pair.start('source');
  await store(pair.source, null, range(1000, 1100));
  // What the source lost in the crash may be newer at the target.
  await eventually(async () => assert.equal((await taskOf(pair.source)).changesLeft, 0));
  await whenContents([pair.target], ([content]) => assert.equal(content?.size, 1100));
});

for (const type of ['seqno', 'lww'])
  test(`two buckets that replicate to each other are equal after conflicts, resolved by ${type}`, {
    timeout,
  }, async () => {
    const { source: one, target: other } = pair;
    await pair.createBuckets({ conflictResolutionType: type });
    await replicate(one, other);
    await replicate(other, one);
    for (let round = 0; round < 5; round++) {
      const written = (name: string) =>
        range(0, 200 + 30 * round).map((document) => ({
          ...document,
          // Written at the same moment, two versions may be equal in all else: then each node would keep its own.
          flags: jsonFlags + (name === 'one' ? 0 : 1),
          value: Buffer.from(JSON.stringify({ name, round })),
        }));
      const removed = range(0, 200).filter((_, index) => index % 7 === round);
      await Promise.all([
        store(one, null, written('one')),
        store(other, null, written('other')).then(() => store(other, null, written('again').slice(30, 100))),
      ]);
      const client = await clientOf(other);
      await client.storeMany(
        0,
        removed.map((document) => ({ ...document, kind: 'remove' as const, value: Buffer.alloc(0) })),
      );
      client.close();
    }
    assert.equal((await whenEqual(one, other)).size, 320);
  });

test('connections are encrypted on demand, with a user who may only receive replications', {
  timeout,
}, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  const password = 'receive-only';
  const user = { password, roles: 'replication_target[b]' };
  const path = '/settings/rbac/users/local/receiver';
  assert.equal((await target.request(path, 'PUT', user)).status, 200);
  const certificate = await (await target.request('/pools/default/certificate')).text();
  const wrong = await (await source.request('/pools/default/certificate')).text();
  const refused = await source.request('/pools/default/remoteClusters', 'POST', {
    ...referenceTo(target, { demandEncryption: '1', certificate: wrong }),
  });
  assert.match(await refused.text(), /certificate of .* is not accepted/);
  await store(source, null, range(0, 100));
  await source
    .request('/pools/default/remoteClusters', 'POST', {
      ...referenceTo(target, { demandEncryption: '1', certificate, username: 'receiver', password }),
    })
    .then(bodyOf);
  await createReplication(source);
  await whenEqual(source, target);
  const changed = await target.request(path, 'PUT', { password: 'another-one', roles: 'ro_admin' });
  assert.equal(changed.status, 200);
  await store(source, null, range(100, 150));
  await eventually(async () => assert.notDeepEqual((await taskOf(source)).errors, []));
});

test('documents of a collection that the target lacks follow when it is created there, also again', {
  timeout,
}, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  await createCollections(source, ['one', 'two']);
  await createCollections(target, ['one']);
  for (const name of ['one', 'two']) await store(source, name, range(0, 100));
  await replicate(source, target);
  await whenContents([target], ([content]) => assert.equal(content?.size, 100));
  await createCollections(target, ['two']);
  assert.equal((await whenEqual(source, target)).size, 200);
  await target.request('/pools/default/buckets/b/scopes/s/collections/two', 'DELETE').then(bodyOf);
  await createCollections(target, ['two']);
  assert.equal((await whenEqual(source, target)).size, 200);
});

test('attributes, expirations and filters follow the settings', { timeout }, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  const client = await clientOf(source);
  const attribute = {
    writes: [
      { opcode: SubdocOpcode.dictUpsert, flags: PathFlag.xattr, path: 'own', value: Buffer.from('{"a":1}') },
    ],
    docFlags: createDocument,
  };
  const replies = await client.storeMany(
    0,
    range(0, 50).map((one) => ({ ...one, parts: attribute })),
  );
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [0]);
  await store(source, null, range(500, 550));
  await store(
    source,
    null,
    range(530, 550).map((one) => ({ ...one, expiry: 1 })),
  );
  const id = await replicate(source, target);
  const found = await whenEqual(source, target);
  assert.equal([...found.values()].filter((text) => text.includes('own')).length, 50);
  const settings = `/settings/replications/${encodeURIComponent(id)}`;
  const filters = { filterDeletion: 'true', filterBinary: 'true', filterBypassExpiry: 'true' };
  await source.request(settings, 'POST', filters).then(bodyOf);
  await eventually(async () => assert.equal((await taskOf(source)).changesLeft, 0));
  await store(
    source,
    null,
    range(600, 610).map((one) => ({
      ...one,
      kind: 'remove',
      key: one.key.replace('6', '5'),
      value: Buffer.alloc(0),
    })),
  );
  await store(
    source,
    null,
    range(700, 710).map((one) => ({ ...one, value: Buffer.from([255, 0]) })),
  );
  await store(source, null, range(800, 810));
  await whenContents([target], ([content]) => {
    const kinds = (from: number) =>
      range(from, from + 10).map(({ key }) => JSON.parse(content?.get(`_default._default/${key}`) ?? '{}'));
    assert.deepEqual(
      kinds(800).map(({ kind, expiry }) => [kind, expiry]),
      Array(10).fill(['mutation', 0]),
    );
    assert.deepEqual(
      kinds(500).map(({ kind }) => kind),
      Array(10).fill('mutation'),
    );
    assert.deepEqual(kinds(700), Array(10).fill({}));
  });
});

test('a target whose bucket is flushed, or deleted and made anew, gets everything again', {
  timeout,
}, async () => {
  const { source, target } = pair;
  await pair.createBuckets({ flushEnabled: '1' });
  await store(source, null, range(0, 200));
  await replicate(source, target);
  await whenEqual(source, target);
  assert.equal((await target.request('/pools/default/buckets/b/controller/doFlush', 'POST')).status, 200);
  await store(source, null, range(200, 210));
  await whenEqual(source, target);
  assert.equal((await target.request('/pools/default/buckets/b', 'DELETE')).status, 200);
  await pair.createBucket(target);
  await store(source, null, range(210, 220));
  assert.equal((await whenEqual(source, target)).size, 220);
});
