// Commits and rollbacks that crash before and within every request to the data service: after the clean-up all changes apply or none.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Collection } from 'couchbase';
import { DataPortError } from '#client/data-port-error.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { Keyspace, KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import { Status } from '#wire/status.ts';
import {
  BreakingData,
  cleanUpNow,
  ForgettingData,
  FullData,
  InterruptedData,
  unsendingClients,
} from '../../../test/support/failing-transaction-data.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { SdkNode } from '../../../test/support/sdk-node.ts';
import { keyspacesOf, partsOf, type TransactionParts } from '../../../test/support/transaction-parts.ts';
import { WireDocuments } from '../data/wire-documents.ts';
import { LostAttempts } from './lost-attempts.ts';
import type { StagedChange, StagedKind } from './staged-change.ts';
import { Transaction, type TransactionStart } from './transaction.ts';
import { TransactionData } from './transaction-data.ts';
import { TransactionDocuments } from './transaction-documents.ts';
import { commit, type EndingParts, otherAttemptsOf, rollback } from './transaction-end.ts';

describe('a commit that crashes', () => {
  let sdk: SdkNode;
  let collection: Collection;
  let parts: TransactionParts;

  before(async () => {
    sdk = await SdkNode.start();
    collection = sdk.collection;
    parts = await partsOf(sdk);
  });
  after(async () => {
    parts?.clients.closeAll();
    await sdk?.[Symbol.asyncDispose]();
  });

  test('is completed or rolled back after a crash at any request', async () => {
    const names = await breakEverywhere(parts, collection, 'ours');
    const lost = lostAttemptsIn(parts, parts.keyspace.name);
    await eventually(async () => assert.equal(await lost.sweep(), null));
    lost.stop();
    await assertWhole(collection, names);
    // Later writes find no staged change.
    for (const name of names) await collection.upsert(`${name} replaced`, {});
    await sdk.cluster.transactions().run(async (attempt) => {
      for (const name of names)
        await attempt.replace(await attempt.get(collection, `${name} replaced`), { v: 3 });
    });
  });

  test('rolls back documents that were staged without a reply', async () => {
    await prepareDocuments(collection, 'forgotten');
    const data = new ForgettingData(parts, 2); // after the record of the attempt
    const transaction = new Transaction({ ...startOf(), timeoutMs: 60_000 }, realClock);
    await change(data, transaction, parts.keyspace, 'forgotten');
    await assert.rejects(commit(transaction, partsOver(data)), { code: 17007 });
    assert.equal(await stateOf(collection, 'forgotten'), 'before');
    assert.deepEqual(await stagedOf(parts, 'forgotten'), []);
  });

  describe('whose documents others change between staging and commit', () => {
    type ChangeByOthers = (id: (id: string) => string, transaction: Transaction) => Promise<unknown>[];

    /** Rolls back with a timeout of 1 ms. */
    async function commitOver(name: string, changeByOthers: ChangeByOthers, timeoutMs = 60_000) {
      await prepareDocuments(collection, name);
      const transaction = new Transaction({ ...startOf(), timeoutMs }, realClock);
      const others = () => Promise.all(changeByOthers((id) => `${name} ${id}`, transaction));
      // The requests: begin the record, stage the documents, write the outcome to the record, and fourth apply it to the documents.
      const data = new InterruptedData(parts, 4, others);
      await change(data, transaction, parts.keyspace, name);
      await commit(transaction, partsOver(data));
    }

    test('replaces what others have written, and does not restore what others have deleted', async () => {
      await commitOver('overtaken', (id) => [
        collection.upsert(id('replaced'), { v: 9 }),
        collection.upsert(id('removed'), { v: 9 }),
        collection.remove(id('replaced too')),
        collection.remove(id('removed too')),
      ]);
      assert.equal(await stateOf(collection, 'overtaken'), 'half: 2,2,0,2,0,0');
      assert.deepEqual(await stagedOf(parts, 'overtaken'), []);
    });

    test('removes its attribute from what others have written if it is rolled back', async () => {
      const write: ChangeByOthers = (id) => [collection.upsert(id('replaced'), { v: 9 })];
      await assert.rejects(commitOver('rolled back', write, 1), { code: 17010 });
      assert.equal(await stateOf(collection, 'rolled back'), 'half: 0,9,1,0,1,1');
      assert.deepEqual(await stagedOf(parts, 'rolled back'), []);
    });

    test('succeeds where a clean-up has applied its changes', async () => {
      await commitOver('applied', (_id, transaction) => [cleanUpNow(parts, transaction)]);
      assert.equal(await stateOf(collection, 'applied'), 'after');
    });

    test('reports a staged insert whose document another writer has created', async () => {
      const commit = commitOver('created', (id) => [collection.insert(id('inserted'), { v: 9 })]);
      await assert.rejects(commit, { code: 17018 });
      assert.equal(await stateOf(collection, 'created'), 'half: 9,2,0,2,2,0');
    });
  });

  test('of more documents than a record can name fails and is rolled back', async () => {
    await prepareDocuments(collection, 'many');
    const data = new FullData(parts.clients, parts.keyspaces, realClock);
    const transaction = new Transaction({ ...startOf(), timeoutMs: 60_000 }, realClock);
    await change(data, transaction, parts.keyspace, 'many');
    await assert.rejects(commit(transaction, partsOver(data)), { code: 17007 });
    assert.equal(await stateOf(collection, 'many'), 'before');
    assert.deepEqual(await stagedOf(parts, 'many'), []);
  });

  test('rolls back its documents although the collection of one of them was dropped', async () => {
    await prepareDocuments(collection, 'dropped');
    const data = new TransactionData(parts.clients, parts.keyspaces, realClock);
    const transaction = new Transaction({ ...startOf(), timeoutMs: 60_000 }, realClock);
    await change(data, transaction, parts.keyspace, 'dropped');
    const [staged] = transaction.changes.all() as [StagedChange];
    const keyspace = { ...parts.keyspace, collectionId: 99 };
    transaction.changes.put({ ...staged, keyspace, stagedByClient: 'replace' });
    transaction.changes.acceptStatement();
    await assert.rejects(commit(transaction, partsOver(data)), { code: 17007 });
    assert.equal(await stateOf(collection, 'dropped'), 'before');
    assert.deepEqual(await stagedOf(parts, 'dropped'), []);
  });

  test('stays recorded while one of its documents is locked, and is completed later', async () => {
    await run(parts, collection, 'locked', 3, true);
    const id = 'locked replaced too';
    const { cas } = await collection.getAndLock(id, 15);
    const lost = lostAttemptsIn(parts, parts.keyspace.name);
    await eventually(async () => assert.equal(await stateOf(collection, 'locked'), 'half: 2,2,0,2,1,0'));
    assert.notEqual(await lost.sweep(), null);
    await collection.unlock(id, cas);
    await eventually(async () => assert.equal(await lost.sweep(), null));
    lost.stop();
    assert.equal(await stateOf(collection, 'locked'), 'after');
  });

  test('stays recorded while the node does not have the bucket of its documents', async () => {
    await sdk.withBucket('records');
    const { clients } = parts;
    const name = { ...parts.keyspace.name, bucket: 'records' };
    const keyspaces = keyspacesOf('b', 'records');
    const start = { ...startOf(), recordLocation: { ...name, id: null } };
    await run({ ...parts, keyspaces }, collection, 'elsewhere', 3, true, start);
    const early = lostAttemptsIn({ clients, keyspaces: keyspacesOf('records') }, name);
    await eventually(async () => assert.equal(await early.sweep(), 1_000));
    early.stop();
    const lost = lostAttemptsIn({ clients, keyspaces }, name);
    await eventually(async () => assert.equal(await lost.sweep(), null));
    lost.stop();
    assert.equal(await stateOf(collection, 'elsewhere'), 'after');
  });

  test('reports a failed commit, an ambiguous commit, and a commit that is decided but not applied', async () => {
    const failure = new DataPortError('the connection ended');
    const dataFor = (left: number) => new BreakingData(parts, left, false, failure);
    const outcomes = await outcomesOf(parts, collection, 'ended', dataFor);
    assert.deepEqual(outcomes, ['17007 false', '17019 false', '17018 false']);
  });

  test('reports a commit whose writes are refused for the moment as failed, to be retried, and never as ambiguous', async () => {
    const dataFor = (left: number) => new BreakingData(parts, left, false, Status.syncWriteInProgress);
    const outcomes = await outcomesOf(parts, collection, 'refused', dataFor);
    assert.deepEqual(outcomes, ['17007 true', '17020 true', '17018 false']);
  });

  test('reports a commit whose writes could not be sent as failed, to be retried, and never as ambiguous', async () => {
    const dataFor = (left: number) =>
      new TransactionData(unsendingClients(parts.clients, left), parts.keyspaces, realClock);
    const outcomes = await outcomesOf(parts, collection, 'unsent', dataFor, 200);
    assert.deepEqual(outcomes, ['17007 true', '17018 false']);
  });

  test('reports a rollback that did not reach the data service', async () => {
    const recordLocation = { ...parts.keyspace.name, id: '_txn:atr-0-#14' };
    const start = { ...startOf(), recordLocation, isRecorded: true };
    const transaction = new Transaction(start, realClock);
    const data = new BreakingData(parts, 0, false, new DataPortError('the connection ended'));
    await assert.rejects(rollback(transaction, partsOver(data)), { code: 17008 });
  });

  test('is read as committed, and a transaction that writes its documents cleans it up', async () => {
    const { clients, keyspaces, keyspace } = parts;
    await run(parts, collection, 'met', 3, true);
    assert.equal(await stateOf(collection, 'met'), 'half: 2,2,0,0,1,1');
    const data = new TransactionData(clients, keyspaces, realClock);
    const transaction = () => new Transaction({ ...startOf(), timeoutMs: 60_000 }, realClock);
    const reader = transaction();
    const stored = new WireDocuments(clients);
    const documents = new TransactionDocuments(stored, reader, otherAttemptsOf(data, reader), realClock);
    const { signal } = new AbortController();
    const ids = ['met inserted too', 'met replaced too', 'met removed too'];
    const read = await documents.read(keyspace, ids, { signal });
    assert.deepEqual(
      read.map((found) => found && String(found.bytes)),
      ['{"v":2}', '{"v":2}', undefined],
    );
    const id = ids[0] as string;
    const insert = { kind: 'insert', id, cas: 0n, bytes: Buffer.from('1'), expiration: 0 } as const;
    await assert.rejects(documents.write(keyspace, [insert], { durability: 'none', signal }), {
      code: 17012,
    });
    const lost = { began: () => {}, ended: () => {} };
    await eventually(async () => {
      const writer = transaction();
      const [found] = await data.linkedDocuments(keyspace, ['met replaced too'], startOf());
      writer.changes.put({
        keyspace,
        id: 'met replaced too',
        kind: 'replace',
        cas: found?.cas ?? 0n,
        ownCas: 1n,
        expiration: 'keep',
        bytes: Buffer.from('{"v":3}'),
        stagedByClient: null,
        isUnstaged: true,
      });
      writer.changes.acceptStatement();
      await commit(writer, { data, clock: realClock, random: realRandom, lost });
    });
    assert.equal(await stateOf(collection, 'met'), 'half: 2,2,0,2,3,0');
  });
});

/** Runs a transaction for each possible crash; returns the prefixes of the document ids. */
async function breakEverywhere(
  parts: TransactionParts,
  collection: Collection,
  prefix: string,
): Promise<string[]> {
  const stepCount = await run(parts, collection, `${prefix} whole`, 1_000, false);
  assert.deepEqual(await stateOf(collection, `${prefix} whole`), 'after');
  const names: string[] = [];
  for (let last = 0; last < stepCount; last++)
    for (const sendsHalf of [false, true]) {
      const name = `${prefix} ${last}${sendsHalf ? ' half' : ''}`;
      names.push(name);
      await run(parts, collection, name, last, sendsHalf);
    }
  return names;
}

async function assertWhole(collection: Collection, names: readonly string[]): Promise<void> {
  const states = new Map<string, string>();
  for (const name of names) states.set(name, await stateOf(collection, name));
  assert.deepEqual(new Set(states.values()), new Set(['before', 'after']), JSON.stringify([...states]));
}

/** Commits a transaction whose process crashes after `left` requests; `sendsHalf`: within the next one. Returns how many requests were sent. */
async function run(
  { clients, keyspaces, keyspace }: TransactionParts,
  collection: Collection,
  name: string,
  left: number,
  sendsHalf: boolean,
  start: TransactionStart = startOf(),
): Promise<number> {
  await prepareDocuments(collection, name);
  const data = new BreakingData({ clients, keyspaces }, left, sendsHalf);
  const transaction = new Transaction(start, { ...realClock, monotonicMs: () => 0 });
  await change(data, transaction, keyspace, name);
  await commit(transaction, partsOver(data)).catch(() => {});
  return data.sent;
}

/** The different answers of commits that fail at each of their requests, with whether they are to be retried. */
async function outcomesOf(
  parts: TransactionParts,
  collection: Collection,
  name: string,
  dataFor: (left: number) => TransactionData,
  kvTimeoutMs = 5_000,
): Promise<string[]> {
  const all = await run(parts, collection, `${name} whole`, 1_000, false);
  const outcomes = new Set<string>();
  for (let left = 0; left < all; left++) {
    await prepareDocuments(collection, `${name} ${left}`);
    const data = dataFor(left);
    const transaction = new Transaction(
      { ...startOf(), kvTimeoutMs },
      { ...realClock, monotonicMs: () => 0 },
    );
    await change(data, transaction, parts.keyspace, `${name} ${left}`);
    await commit(transaction, partsOver(data)).then(
      () => assert.fail('a request failed'),
      ({ code, cause }: { code: number; cause: { retry: boolean } }) =>
        outcomes.add(`${code} ${cause.retry}`),
    );
  }
  return [...outcomes];
}

async function prepareDocuments(collection: Collection, name: string): Promise<void> {
  for (const id of ['replaced', 'removed', 'replaced too', 'removed too'])
    await collection.upsert(`${name} ${id}`, { v: 1 });
}

const partsOver = (data: TransactionData): EndingParts => ({
  data,
  clock: realClock,
  random: realRandom,
  lost: { began: () => {}, ended: () => {} },
});

const startOf = () => ({
  id: realRandom.uuid(),
  transactionId: realRandom.uuid(),
  users: [],
  timeoutMs: 1,
  kvTimeoutMs: 5_000,
  ...({ durability: 'none', consistency: 'request_plus', recordLocation: null } as const),
  isRecorded: false,
  isImplicit: false,
  memoryBytesMax: 1 << 20,
});

/** The expiration of some of the changed documents. */
const expiresAt = 4_000_000_000;
const expires = (id: string): boolean => id === 'inserted' || id === 'replaced';

const kinds: readonly (readonly [string, StagedKind])[] = [
  ['inserted', 'insert'],
  ['replaced', 'replace'],
  ['removed', 'remove'],
  ['inserted too', 'insert'],
  ['replaced too', 'replace'],
  ['removed too', 'remove'],
];

async function change(
  data: TransactionData,
  { changes }: Transaction,
  keyspace: Keyspace,
  name: string,
): Promise<void> {
  for (const [id, kind] of kinds) {
    const [found] = await data.linkedDocuments(keyspace, [`${name} ${id}`], startOf());
    changes.put({
      keyspace,
      id: `${name} ${id}`,
      kind,
      cas: found?.cas ?? 0n,
      ownCas: 1n,
      expiration: expires(id) ? expiresAt : 'keep',
      bytes: Buffer.from(kind === 'remove' ? '' : '{"v":2}'),
      stagedByClient: null,
      isUnstaged: true,
    });
  }
  changes.acceptStatement();
}

async function stateOf(collection: Collection, name: string): Promise<string> {
  const found = await Promise.all(
    kinds.map(async ([id]) => {
      const { exists } = await collection.exists(`${name} ${id}`);
      if (!exists) return 0;
      const { content, expiryTime } = await collection.get(`${name} ${id}`, { withExpiry: true });
      const { v } = content as { v: number };
      return v === 2 && expires(id) && expiryTime !== expiresAt ? `${v} without its expiration` : v;
    }),
  );
  const text = found.join();
  return text === '0,1,1,0,1,1' ? 'before' : text === '2,2,0,2,2,0' ? 'after' : `half: ${text}`;
}

const lostAttemptsIn = (
  { clients, keyspaces }: Pick<TransactionParts, 'clients' | 'keyspaces'>,
  collection: KeyspaceName,
): LostAttempts =>
  new LostAttempts({
    data: new TransactionData(clients, keyspaces, realClock),
    collections: { all: () => [collection], add: () => {}, clear: () => {} },
    clock: realClock,
    log: silentLog,
    windowMs: () => 60_000,
    isOn: () => true,
  });

/** The documents and tombstones with staged changes. */
async function stagedOf({ clients, keyspaces, keyspace }: TransactionParts, name: string): Promise<string[]> {
  const ids = kinds.map(([id]) => `${name} ${id}`);
  const data = new TransactionData(clients, keyspaces, realClock);
  const found = await data.linkedDocuments(keyspace, ids, startOf());
  return ids.filter((_, at) => found[at]?.txn !== undefined);
}
