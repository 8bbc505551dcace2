// Replication while connections are cut, and while the source is killed: what is lost, what is sent again, and which rules apply.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { portNumber } from '../support/addresses.ts';
import { eventuallyWithin, type NodeProcess } from '../support/node-process.ts';
import { Relay } from '../support/relay.ts';
import { ReplicatingPair } from '../support/replicating-pair.ts';
import { storing } from '../support/storing.ts';
import {
  bodyOf,
  clientOf,
  createReplication,
  jsonFlags,
  metaWrites,
  referenceTo,
  replicate,
  taskOf,
  whenContents,
  whenEqual,
} from '../support/xdcr.ts';

const timeout = 600_000;
const waitMs = 180_000;

const pair = ReplicatingPair.forTests();

const documents = (prefix: string, count: number): StoreRequest[] =>
  Array.from({ length: count }, (_, index) =>
    storing(`${prefix}-${index}`, JSON.stringify({ prefix, index }), { flags: jsonFlags }),
  );

async function store(node: NodeProcess, path: string, requests: readonly StoreRequest[]): Promise<void> {
  const client = await clientOf(node);
  const [scope = '', name = ''] = path.split('.');
  const replies = await client.storeMany((await client.collectionId(scope, name)) as number, requests);
  client.close();
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [0]);
}

async function createCollections(node: NodeProcess, paths: readonly string[]): Promise<void> {
  const scopes = '/pools/default/buckets/b/scopes';
  for (const path of paths) {
    const [scope = '', name = ''] = path.split('.');
    await node.request(scopes, 'POST', { name: scope }).then((response) => response.text());
    await node.request(`${scopes}/${scope}/collections`, 'POST', { name }).then(bodyOf);
  }
}

test('nothing is lost when connections to the alternate address of the target are cut', {
  timeout,
}, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  await using relay = await Relay.open(portNumber(target.ready.node.kv));
  const external = { hostname: '127.0.0.1', kv: String(relay.port) };
  const path = '/node/controller/setupAlternateAddresses/external';
  assert.equal((await target.request(path, 'PUT', external)).status, 200);
  const reference = referenceTo(target, { network_type: 'external' });
  await source.request('/pools/default/remoteClusters', 'POST', reference).then(bodyOf);
  await createReplication(source);
  const cuts = 3;
  // More than the replication sends before it sees that its connection was cut.
  const documentsPerCut = 600;
  for (let round = 0; round < cuts; round++) {
    await store(source, '_default._default', documents(`round-${round}`, documentsPerCut));
    // Cut while documents are on their way, or just have been.
    await eventuallyWithin(waitMs, async () => {
      relay.cut();
      assert.ok(relay.cuts > round, `${relay.cuts} connections were cut`);
    });
  }
  assert.equal((await whenEqual(source, target)).size, documentsPerCut * cuts);
  await eventuallyWithin(waitMs, async () => {
    const { status, changesLeft, errors } = await taskOf(source);
    assert.deepEqual([status, changesLeft], ['running', 0]);
    // Each error has its time and a text.
    assert.ok(errors.length > 0);
    for (const error of errors) assert.match(error, /^\d{4}-\d\d-\d\d.*\d\d:\d\d:\d\d.* \S+/);
  });
  assert.equal((await target.request(path, 'DELETE')).status, 200);
});

test('rules that changed before the source was killed apply after its start', { timeout }, async () => {
  const { target } = pair;
  await pair.createBuckets();
  await createCollections(target, ['t.one', 't.two', 'u.other']);
  await createCollections(pair.source, ['s.one', 's.two']);
  for (const name of ['one', 'two']) await store(pair.source, `s.${name}`, documents(name, 100));
  const id = await replicate(pair.source, target, {
    collectionsExplicitMapping: 'true',
    colMappingRules: '{"s.one":"t.one"}',
  });
  const countsIn = (content: ReadonlyMap<string, string>) => {
    const found: Record<string, number> = {};
    for (const path of content.keys()) {
      const name = path.replace(/-\d+$/, '');
      found[name] = (found[name] ?? 0) + 1;
    }
    return found;
  };
  const untilCounts = (expected: Record<string, number>) =>
    whenContents([target], ([content = new Map()]) => assert.deepEqual(countsIn(content), expected));
  await untilCounts({ 't.one/one': 100 });
  const settings = `/settings/replications/${encodeURIComponent(id)}`;
  for (const rules of ['{"s":"t"}', '{"s":"t","_default._default":"u.other"}']) {
    await pair.source.request(settings, 'POST', { colMappingRules: rules }).then(bodyOf);
    await pair.kill('source');
    await pair.start('source');
    await untilCounts({ 't.one/one': 100, 't.two/two': 100 });
  }
  await store(pair.source, '_default._default', documents('default', 50));
  await store(pair.source, 's.two', documents('later', 50));
  await untilCounts({ 't.one/one': 100, 't.two/two': 100, 'u.other/default': 50, 't.two/later': 50 });
});

test('a source that was killed sends again only what followed the last checkpoint', { timeout }, async () => {
  const { target } = pair;
  await pair.createBuckets();
  await store(pair.source, '_default._default', documents('before', 200));
  const id = await replicate(pair.source, target);
  await whenEqual(pair.source, target);
  // A pause ends with a checkpoint.
  const pause = (pauseRequested: boolean) =>
    pair.source
      .request(`/settings/replications/${encodeURIComponent(id)}`, 'POST', {
        pauseRequested: String(pauseRequested),
      })
      .then(bodyOf);
  await pause(true);
  await eventuallyWithin(waitMs, async () => assert.equal((await taskOf(pair.source)).status, 'paused'));
  await store(pair.source, '_default._default', documents('after', 100));
  await pause(false);
  await whenEqual(pair.source, target);
  await untilWritten(pair.source);
  const before = await metaWrites(target);
  await pair.kill('source');
  await pair.start('source');
  await store(pair.source, '_default._default', documents('later', 20));
  assert.equal((await whenEqual(pair.source, target)).size, 320);
  const sent = (await metaWrites(target)) - before;
  assert.ok(sent >= 20 && sent <= 120, `${sent} documents were sent`);
});

/** Waits until every change is on disk. */
const untilWritten = (node: NodeProcess): Promise<void> =>
  eventuallyWithin(waitMs, async () => {
    const client = await clientOf(node);
    const figures = await client.stats('');
    client.close();
    assert.equal(figures.get('ep_queue_size'), '0');
  });
