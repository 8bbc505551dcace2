// Replication of the documents that an expression matches, between two real nodes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { Status } from '#wire/status.ts';
import { eventually, type NodeProcess } from '../support/node-process.ts';
import { ReplicatingPair } from '../support/replicating-pair.ts';
import {
  bodyOf,
  clientOf,
  jsonFlags,
  replicate,
  replicationFigure,
  taskOf,
  whenContents,
} from '../support/xdcr.ts';

const timeout = 600_000;
const pair = ReplicatingPair.forTests();
/** The smallest expiry that is a time, in 1970: smaller values are seconds from now on. */
const longAgo = 30 * 86_400 + 1;

const aDocument = (index: number): StoreRequest => ({
  kind: 'set',
  key: `key-${index}`,
  value: Buffer.from(JSON.stringify({ index, type: index % 2 === 0 ? 'even' : 'odd' })),
  flags: jsonFlags,
  expiry: 0,
  cas: 0n,
});

async function store(node: NodeProcess, requests: readonly StoreRequest[]): Promise<void> {
  const client = await clientOf(node);
  const replies = await client.storeMany(0, requests);
  client.close();
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [0]);
}

const range = (from: number, to: number): StoreRequest[] =>
  Array.from({ length: to - from }, (_, index) => aDocument(from + index));

async function whenHolds(node: NodeProcess, indexes: readonly number[]): Promise<void> {
  const keys = indexes.map((index) => `_default._default/key-${index}`).sort();
  await whenContents([node], ([content = new Map()]) => assert.deepEqual([...content.keys()].sort(), keys));
}

const indexesTo = (end: number, isWanted: (index: number) => boolean): number[] =>
  Array.from({ length: end }, (_, index) => index).filter(isWanted);

test('only documents that match arrive, and after a changed expression the replication starts again or continues', {
  timeout,
}, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  await store(source, range(0, 200));
  const id = await replicate(source, target, {
    filterExpression: 'type = "even" AND REGEXP_CONTAINS(META().id, "^key-[0-9]+$") AND index < 100',
  });
  const isFirst = (index: number) => index % 2 === 0 && index < 100;
  await whenHolds(target, indexesTo(200, isFirst));
  await eventually(async () => assert.equal((await taskOf(source)).changesLeft, 0));
  const figure = (name: string) => replicationFigure(source, id, name);
  await eventually(async () =>
    assert.deepEqual(
      [await figure('docs_filtered'), await figure('docs_filtered_on_user_defined_filter')],
      [150, 150],
    ),
  );
  const path = `/settings/replications/${encodeURIComponent(id)}`;
  const change = (filterExpression: string, filterSkipRestream: string) =>
    source.request(path, 'POST', { filterExpression, filterSkipRestream }).then(bodyOf);
  // The replication continues, so odd documents that exist already do not arrive. It is paused during the change, so that the former expression
  // leaves out no new document.
  const pause = (pauseRequested: string) => source.request(path, 'POST', { pauseRequested }).then(bodyOf);
  await pause('true');
  await eventually(async () => assert.equal((await taskOf(source)).status, 'paused'));
  await change('type = "odd"', 'true');
  await store(source, range(200, 240));
  await pause('false');
  const isSecond = (index: number) => isFirst(index) || (index >= 200 && index % 2 === 1);
  await whenHolds(target, indexesTo(240, isSecond));
  // The replication starts again.
  await change('index >= 180', 'false');
  await whenHolds(
    target,
    indexesTo(240, (index) => isSecond(index) || index >= 180),
  );
});

test('deletions and expirations follow the expression when the settings apply it to them', {
  timeout,
}, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  await store(source, range(0, 80));
  const id = await replicate(source, target);
  await whenHolds(
    target,
    indexesTo(80, () => true),
  );
  const settings = {
    filterDeletion: 'true',
    filterDeletionsWithExpression: 'true',
    filterExpiration: 'true',
    filterExpirationsWithExpression: 'true',
    filterExpression: 'REGEXP_CONTAINS(META().id, "[05]$")',
    filterSkipRestream: 'true',
  };
  const change = (form: Record<string, string>) =>
    source.request(`/settings/replications/${encodeURIComponent(id)}`, 'POST', form).then(bodyOf);
  // Paused, so that nothing is sent by the former settings.
  await change({ ...settings, pauseRequested: 'true' });
  await eventually(async () => assert.equal((await taskOf(source)).status, 'paused'));
  const removal = { kind: 'remove' as const, value: Buffer.alloc(0) };
  await store(
    source,
    range(0, 40).map((one) => ({ ...one, ...removal })),
  );
  await store(
    source,
    range(40, 80).map((one) => ({ ...one, expiry: longAgo })),
  );
  // Reading a document whose time is over makes it an expiration.
  const client = await clientOf(source);
  const expired = range(40, 80).map(({ key }) => key);
  assert.deepEqual([...new Set(await client.getMany(0, expired))], [Status.keyNotFound]);
  client.close();
  await change({ pauseRequested: 'false' });
  await whenContents([target], ([content = new Map()]) => {
    const kinds = new Map<string, number>();
    for (const text of content.values()) {
      const { kind } = JSON.parse(text) as { kind: string };
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    assert.deepEqual(Object.fromEntries(kinds), { mutation: 64, deletion: 8, expiration: 8 });
  });
  await eventually(async () => assert.equal((await taskOf(source)).changesLeft, 0));
});
