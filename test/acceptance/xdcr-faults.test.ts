// Replication while connections are cut, and while the source is killed: what is lost, what is sent again, and which rules apply.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { Relay } from '../support/relay.ts';
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
const args = ['--bucket', 'b'];

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
  await using source = await NodeProcess.start({ args });
  await using target = await NodeProcess.start({ args });
  await using relay = await Relay.open(Number(target.ready.node.kv.split(':')[1]));
  const external = { hostname: '127.0.0.1', kv: String(relay.port) };
  const path = '/node/controller/setupAlternateAddresses/external';
  assert.equal((await target.request(path, 'PUT', external)).status, 200);
  const reference = referenceTo(target, { network_type: 'external' });
  await source.request('/pools/default/remoteClusters', 'POST', reference).then(bodyOf);
  await createReplication(source);
  const cuts = 5;
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
});

test('rules that changed before the source was killed apply after its start', { timeout }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-xdcr-'));
  try {
    await using target = await NodeProcess.start({ args });
    await createCollections(target, ['t.one', 't.two', 'u.other']);
    let source = await NodeProcess.start({ args, dataDir });
    try {
      await createCollections(source, ['s.one', 's.two']);
      for (const name of ['one', 'two']) await store(source, `s.${name}`, documents(name, 300));
      const id = await replicate(source, target, {
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
      await untilCounts({ 't.one/one': 300 });
      const settings = `/settings/replications/${encodeURIComponent(id)}`;
      for (const [rules, expected] of [
        ['{"s":"t"}', { 't.one/one': 300, 't.two/two': 300 }],
        ['{"s":"t","_default._default":"u.other"}', { 't.one/one': 300, 't.two/two': 300 }],
      ] as const) {
        await source.request(settings, 'POST', { colMappingRules: rules }).then(bodyOf);
        await source.stop('SIGKILL');
        source = await NodeProcess.start({ args, dataDir });
        await untilCounts(expected);
      }
      await store(source, '_default._default', documents('default', 100));
      await store(source, 's.two', documents('later', 100));
      await untilCounts({
        't.one/one': 300,
        't.two/two': 300,
        'u.other/default': 100,
        't.two/later': 100,
      });
    } finally {
      await source.stop('SIGKILL');
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test('a source that was killed sends again only what followed the last checkpoint', { timeout }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-xdcr-'));
  try {
    await using target = await NodeProcess.start({ args });
    let source = await NodeProcess.start({ args, dataDir });
    try {
      await store(source, '_default._default', documents('before', 600));
      const id = await replicate(source, target);
      await whenEqual(source, target);
      // A pause ends with a checkpoint.
      const pause = (pauseRequested: boolean) =>
        source
          .request(`/settings/replications/${encodeURIComponent(id)}`, 'POST', {
            pauseRequested: String(pauseRequested),
          })
          .then(bodyOf);
      await pause(true);
      await eventuallyWithin(waitMs, async () => assert.equal((await taskOf(source)).status, 'paused'));
      await store(source, '_default._default', documents('after', 300));
      await pause(false);
      await whenEqual(source, target);
      await untilWritten(source);
      const before = await metaWrites(target);
      await source.stop('SIGKILL');
      source = await NodeProcess.start({ args, dataDir });
      await store(source, '_default._default', documents('later', 50));
      assert.equal((await whenEqual(source, target)).size, 950);
      const sent = (await metaWrites(target)) - before;
      assert.ok(sent >= 50 && sent <= 350, `${sent} documents were sent`);
    } finally {
      await source.stop('SIGKILL');
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

/** Waits until every change is on disk. */
const untilWritten = (node: NodeProcess): Promise<void> =>
  eventuallyWithin(waitMs, async () => {
    const client = await clientOf(node);
    const figures = await client.stats('');
    client.close();
    assert.equal(figures.get('ep_queue_size'), '0');
  });
