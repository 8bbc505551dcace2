// Replication into collections of other names, between two real nodes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { eventuallyWithin, type NodeProcess } from '../support/node-process.ts';
import { ReplicatingPair } from '../support/replicating-pair.ts';
import {
  bodyOf,
  clientOf,
  jsonFlags,
  metaWrites,
  replicate,
  replicationFigure,
  taskOf,
  whenContents,
} from '../support/xdcr.ts';

const timeout = 180_000;
const waitMs = 120_000;
const pair = ReplicatingPair.forTests();

async function createCollections(node: NodeProcess, paths: readonly string[]): Promise<void> {
  const scopesPath = '/pools/default/buckets/b/scopes';
  for (const path of paths) {
    const [scope = '', name = ''] = path.split('.');
    await node.request(scopesPath, 'POST', { name: scope }).then((response) => response.text());
    await node.request(`${scopesPath}/${scope}/collections`, 'POST', { name }).then(bodyOf);
  }
}

const aDocument = (key: string, value: object): StoreRequest => ({
  kind: 'set',
  key,
  value: Buffer.from(JSON.stringify(value)),
  flags: jsonFlags,
  expiry: 0,
  cas: 0n,
});

async function store(node: NodeProcess, path: string, requests: readonly StoreRequest[]): Promise<void> {
  const client = await clientOf(node);
  const [scope = '', name = ''] = path.split('.');
  const id = await client.collectionId(scope, name);
  const replies = await client.storeMany(id as number, requests);
  client.close();
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [0]);
}

const documents = (prefix: string, count: number): StoreRequest[] =>
  Array.from({ length: count }, (_, index) => aDocument(`${prefix}-${index}`, { index }));

/** How many documents with which prefix each collection has. */
function countsOf(content: ReadonlyMap<string, string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [path, text] of content) {
    if (!text.includes('"kind":"mutation"')) continue;
    const name = path.replace(/-\d+$/, '');
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const untilCounts = (node: NodeProcess, counts: Record<string, number>): Promise<void> =>
  whenContents([node], ([content = new Map()]) => assert.deepEqual(countsOf(content), counts));

async function change(node: NodeProcess, id: string, form: Record<string, string>): Promise<void> {
  await node.request(`/settings/replications/${encodeURIComponent(id)}`, 'POST', form).then(bodyOf);
}

/** Waits until a new start would continue after all that has been replicated. */
const untilCheckpointed = (node: NodeProcess, id: string): Promise<void> =>
  eventuallyWithin(waitMs, async () => {
    const { docsChecked, changesLeft } = await taskOf(node);
    assert.deepEqual([docsChecked, changesLeft], [await replicationFigure(node, id, 'docs_processed'), 0]);
  });

test('explicit rules replicate what they name, and changed rules only send what is new', {
  timeout,
}, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  await createCollections(source, ['s.one', 's.two', 's.three']);
  await createCollections(target, ['t.one', 't.two', 'u.other']);
  for (const name of ['one', 'two', 'three']) await store(source, `s.${name}`, documents(name, 300));
  await store(source, '_default._default', documents('default', 300));
  const rules = (byPath: object) => JSON.stringify(byPath);
  const id = await replicate(source, target, {
    collectionsExplicitMapping: 'true',
    colMappingRules: rules({ s: 't', 's.two': null, 's.three': 'u.missing' }),
  });
  const first = { 't.one/one': 300 };
  await untilCounts(target, first);
  // The target of a rule that is created later gets everything.
  await createCollections(target, ['u.missing']);
  const second = { ...first, 'u.missing/three': 300 };
  await untilCounts(target, second);
  await untilCheckpointed(source, id);
  const before = await metaWrites(target);
  await change(source, id, {
    colMappingRules: rules({ s: 't', 's.three': 'u.missing', '_default._default': 'u.other' }),
  });
  const third = { ...second, 't.two/two': 300, 'u.other/default': 300 };
  await untilCounts(target, third);
  // A full replication would be 1,200 writes.
  assert.ok((await metaWrites(target)) - before < 1200);
  // Later changes follow the present rules. Documents without a rule stay unchanged at the target.
  await change(source, id, { colMappingRules: rules({ '_default._default': 'u.other' }) });
  await eventuallyWithin(waitMs, async () => {
    const { status, errors, changesLeft } = await taskOf(source);
    assert.deepEqual([status, errors, changesLeft], ['running', [], 0]);
  });
  await store(source, 's.one', documents('later', 100));
  await store(source, '_default._default', documents('later', 100));
  await untilCounts(target, { ...third, 'u.other/later': 100 });
  await change(source, id, { collectionsExplicitMapping: 'false' });
  await untilCounts(target, {
    ...third,
    'u.other/later': 100,
    '_default._default/later': 100,
    '_default._default/default': 300,
  });
});

test('a mapping that changed during a pause sends what is new afterwards', {
  timeout,
}, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  await createCollections(source, ['s.one', 's.two']);
  await createCollections(target, ['t.one', 't.two']);
  for (const name of ['one', 'two']) await store(source, `s.${name}`, documents(name, 200));
  const id = await replicate(source, target, {
    collectionsExplicitMapping: 'true',
    colMappingRules: '{"s.one":"t.one"}',
  });
  await untilCounts(target, { 't.one/one': 200 });
  await untilCheckpointed(source, id);
  await change(source, id, { pauseRequested: 'true' });
  await eventuallyWithin(waitMs, async () => assert.equal((await taskOf(source)).status, 'paused'));
  await change(source, id, { colMappingRules: '{"s":"t"}' });
  const before = await metaWrites(target);
  await change(source, id, { pauseRequested: 'false' });
  await untilCounts(target, { 't.one/one': 200, 't.two/two': 200 });
  assert.equal((await metaWrites(target)) - before, 200);
});

test('a migration sends each document to the collections of all rules that it matches', {
  timeout,
}, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  await createCollections(source, ['s.one']);
  await createCollections(target, ['t.even', 't.small', 't.late', 's.one']);
  await store(source, 's.one', documents('one', 50));
  await store(
    source,
    '_default._default',
    Array.from({ length: 300 }, (_, index) =>
      aDocument(`d-${index}`, { index, type: index % 2 === 0 ? 'even' : 'odd' }),
    ),
  );
  const rules = { 'type = "even"': 't.even', 'index < 100': 't.small' };
  const id = await replicate(source, target, {
    collectionsMigrationMode: 'true',
    colMappingRules: JSON.stringify(rules),
  });
  const first = { 't.even/d': 150, 't.small/d': 100 };
  await untilCounts(target, first);
  await eventuallyWithin(waitMs, async () => {
    const names = ['docs_filtered', 'docs_cloned', 'docs_written'];
    const figures = await Promise.all(names.map((name) => replicationFigure(source, id, name)));
    assert.deepEqual(figures, [100, 50, 250]);
  });
  // Deletions are sent to the targets of all rules, and the target of a new rule gets also documents that were replicated before.
  const removed = documents('d', 10).map((one) => ({
    ...one,
    kind: 'remove' as const,
    value: Buffer.alloc(0),
  }));
  await store(source, '_default._default', removed);
  await change(source, id, {
    colMappingRules: JSON.stringify({ ...rules, 'REGEXP_CONTAINS(META().id, "^d-29")': 't.late' }),
  });
  await untilCounts(target, { 't.even/d': 145, 't.small/d': 90, 't.late/d': 11 });
});

test('a migration of the whole default collection needs no expression', { timeout }, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  await createCollections(target, ['t.all']);
  await store(source, '_default._default', documents('d', 200));
  await replicate(source, target, {
    collectionsMigrationMode: 'true',
    colMappingRules: '{"_default._default":"t.all"}',
  });
  await untilCounts(target, { 't.all/d': 200 });
});
