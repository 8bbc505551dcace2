import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { realClock } from '#ports/clock.ts';
import type { Documents, DocumentWrite, ReadOptions, StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { Indexes, IndexScan } from '#sqlpp/datastore/indexes.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import type { OtherAttempts } from './other-attempts.ts';
import { Transaction } from './transaction.ts';
import { TransactionDocuments, transactionIndexes } from './transaction-documents.ts';

const keyspace: Keyspace = {
  name: { namespace: 'default', bucket: 'b', scope: '_default', collection: '_default' },
  bucketUuid: 'u',
  scopeId: 0,
  collectionId: 0,
};
const { signal } = new AbortController();
const others = { stateOf: () => Promise.resolve(null) } as unknown as OtherAttempts;

const aDocument = (id: string, cas = 5n, expiration = 0): StoredDocument => ({
  id,
  bytes: Buffer.from('{"v":1}'),
  isJson: true,
  cas,
  flags: 0,
  expiration,
});

/** A transaction over stored documents: every id that begins with `k` exists. */
function aTransaction({ beforeRead = () => Promise.resolve(), expiration = 0 } = {}) {
  const transaction = new Transaction(
    {
      id: 'a',
      transactionId: 't',
      users: [],
      timeoutMs: 60_000,
      kvTimeoutMs: 1_000,
      durability: 'none',
      consistency: 'request_plus',
      recordLocation: null,
      isRecorded: false,
      isImplicit: false,
      memoryBytesMax: 1 << 20,
    },
    realClock,
  );
  const stored: Documents = {
    async read(_keyspace, ids) {
      await beforeRead();
      return ids.map((id) => (id.startsWith('k') ? aDocument(id, 5n, expiration) : undefined));
    },
    async *scan() {
      yield [aDocument('k1'), aDocument('k2')];
    },
    count: () => Promise.resolve(2),
    write: () => Promise.reject(new Error('nothing is written before the commit')),
  };
  const documents = new TransactionDocuments(stored, transaction, others, realClock);
  const write = (kind: DocumentWrite['kind'], id: string, cas = 0n) =>
    documents.write(keyspace, [{ kind, id, cas, bytes: Buffer.from('{"v":2}'), expiration: 0 }], {
      durability: 'none',
      signal,
    });
  const changes = () => transaction.changes.all().map(({ kind, id, cas }) => `${kind} ${id} ${cas}`);
  /** Ends a statement with these writes. */
  const endStatement = async (...writes: Promise<unknown>[]) => {
    await Promise.all(writes);
    transaction.changes.acceptStatement();
  };
  return { transaction, documents, write, changes, endStatement };
}

test('a document is read again if the attempt that has staged a change of it has ended since the first read', async () => {
  const txn = Buffer.from('{"id":{"atmpt":"ended"},"op":{"type":"replace","stgd":{"v":2}}}');
  const versions = [
    { ...aDocument('k'), xattrs: new Map([['txn', txn]]) },
    { ...aDocument('k'), cas: 6n },
  ];
  const stored = { read: () => Promise.resolve([versions.shift()]) } as unknown as Documents;
  const { transaction } = aTransaction();
  const documents = new TransactionDocuments(stored, transaction, others, realClock);
  const [found] = await documents.read(keyspace, ['k'], { signal });
  assert.equal(found?.cas, 6n);
});

test('a staged change of another attempt that has committed is read as the document', async () => {
  const txn = (staged: string) =>
    Buffer.from(`{"id":{"atmpt":"other"},"op":{"type":"insert","stgd":${staged}}}`);
  const { transaction } = aTransaction();
  const committed = { stateOf: () => Promise.resolve('COMMITTED') } as unknown as OtherAttempts;
  for (const text of ['{"v":12345678901234567890}', '"text"', '1']) {
    const found = { ...aDocument('n'), bytes: Buffer.from(''), isDeleted: true };
    const read = () => Promise.resolve([{ ...found, xattrs: new Map([['txn', txn(text)]]) }]);
    const stored = { read } as unknown as Documents;
    const documents = new TransactionDocuments(stored, transaction, committed, realClock);
    const [document] = await documents.read(keyspace, ['n'], { signal });
    assert.equal(String(document?.bytes), text);
    assert.deepEqual([document?.isDeleted, document?.xattrs], [undefined, undefined]);
  }
});

test('a staged change of another attempt that has committed has the expiration that it was staged with', async () => {
  const { transaction } = aTransaction();
  const committed = { stateOf: () => Promise.resolve('COMMITTED') } as unknown as OtherAttempts;
  for (const [aux, expected] of [
    ['{"uf":0,"docexpiry":88}', 88],
    ['{"uf":0}', 77],
  ] as const) {
    const txn = `{"id":{"atmpt":"other"},"aux":${aux},"op":{"type":"replace","stgd":{"v":2}}}`;
    const found = { ...aDocument('k', 5n, 77), xattrs: new Map([['txn', Buffer.from(txn)]]) };
    const stored = { read: () => Promise.resolve([found]) } as unknown as Documents;
    const documents = new TransactionDocuments(stored, transaction, committed, realClock);
    const [document] = await documents.read(keyspace, ['k'], { signal, expiration: true });
    assert.equal(document?.expiration, expected);
  }
});

test('a transaction combines several changes of a document into one staged change', async () => {
  const { write, changes, endStatement } = aTransaction();
  await endStatement(
    write('insert', 'n1'),
    write('upsert', 'n2'),
    write('upsert', 'k1'),
    write('delete', 'k2'),
  );
  assert.deepEqual(changes(), ['insert n1 0', 'insert n2 0', 'replace k1 5', 'remove k2 5']);
  await endStatement(write('upsert', 'n1'), write('insert', 'k2'), write('delete', 'n2'));
  assert.deepEqual(changes(), ['insert n1 0', 'replace k1 5', 'replace k2 5']);
  assert.deepEqual(await write('delete', 'n2'), [{ status: 'not found' }]);
  await assert.rejects(write('insert', 'k1'), /Duplicate Key/);
  await assert.rejects(write('replace', 'k1', 77n), /mismatch/);
});

test('a scan returns each document once, in the version of the transaction', async () => {
  const { documents, write, endStatement } = aTransaction();
  await endStatement(write('insert', 'n'), write('upsert', 'k1'), write('delete', 'k2'));
  const found: string[] = [];
  for await (const batch of documents.scan(keyspace, { signal }))
    found.push(...batch.map(({ id, bytes }) => `${id} ${bytes}`));
  assert.deepEqual(found.sort(), ['k1 {"v":2}', 'n {"v":2}']);
  assert.equal(await documents.count(keyspace, signal), 2);
});

test('reads and scans return the expiration that a changed document keeps or is given', async () => {
  const { documents, transaction } = aTransaction({ expiration: 77 });
  const change = (id: string, expiration: 'keep' | number) =>
    documents.write(keyspace, [{ kind: 'replace', id, cas: 5n, bytes: Buffer.from('{}'), expiration }], {
      durability: 'none',
      signal,
    });
  await change('k1', 'keep');
  await change('k2', 88);
  transaction.changes.acceptStatement();
  const options = { signal, expiration: true };
  const read = await documents.read(keyspace, ['k1', 'k2'], options);
  const scanned: StoredDocument[] = [];
  for await (const batch of documents.scan(keyspace, options)) scanned.push(...batch);
  for (const found of [read, scanned])
    assert.deepEqual(
      found.map((document) => document?.expiration),
      [77, 88],
    );
});

test('a removed insert that a client library had staged is not counted', async () => {
  const { transaction, documents } = aTransaction();
  transaction.changes.put({
    keyspace,
    id: 'new',
    kind: 'remove',
    bytes: Buffer.from(''),
    cas: 5n,
    ownCas: 6n,
    expiration: 'keep',
    stagedByClient: 'insert',
    isUnstaged: true,
  });
  transaction.changes.acceptStatement();
  assert.equal(await documents.count(keyspace, signal), 2);
});

test('late writes of an ended statement are refused', async () => {
  const delay = deferred<void>();
  const { documents, write, changes, endStatement } = aTransaction({ beforeRead: () => delay.promise });
  const pendingWrite = write('insert', 'n');
  documents.close();
  delay.resolve();
  await assert.rejects(pendingWrite, /has ended/);
  await endStatement();
  assert.deepEqual(changes(), []);
});

test('a transaction runs one statement at a time, and queues a limited number', async () => {
  const { transaction } = aTransaction();
  await transaction.enter(1, signal);
  const order: string[] = [];
  const second = transaction.enter(1, signal).then(() => order.push('second'));
  await assert.rejects(transaction.enter(1, signal), /queue is full/);
  order.push('first');
  transaction.leave();
  await second;
  assert.deepEqual(order, ['first', 'second']);
  const aborted = new AbortController();
  const third = transaction.enter(1, aborted.signal);
  aborted.abort(new Error('aborted'));
  await assert.rejects(third, /aborted/);
  transaction.leave();
  await transaction.enter(1, signal);
});

test('a statement that scans an index many times reads the changed documents once', async () => {
  const { transaction, documents, write, endStatement } = aTransaction();
  await endStatement(write('replace', 'k1'), write('delete', 'k2'));
  const changed: IndexScan['changed'][] = [];
  const stored = {
    scan: async function* (scan: IndexScan) {
      changed.push(scan.changed);
      yield [];
    },
  } as Partial<Indexes> as Indexes;
  let reads = 0;
  const counted = {
    read: (...read: Parameters<Documents['read']>) => {
      reads++;
      return documents.read(...read);
    },
  };
  const indexes = transactionIndexes(stored, transaction, counted);
  const scan = { index: { id: '1', keyspace, keys: [] }, signal } as unknown as IndexScan;
  for (let time = 0; time < 3; time++)
    for await (const rows of indexes.scan(scan)) assert.deepEqual(rows, []);
  assert.equal(reads, 1);
  assert.deepEqual([...(changed[0]?.keys() ?? [])], ['k1', 'k2']);
  assert.ok(changed.every((each) => each === changed[0]));
});

test('a document that the transaction has replaced has its attributes, in reads and in the rows of indexes', async () => {
  const stored = {
    read: async (_keyspace: Keyspace, ids: readonly string[], { xattrs = [] }: ReadOptions) =>
      ids.map((id) => {
        const found = xattrs
          .filter((name) => name === 'note' || name === 'a`b')
          .map((name) => [name, json] as const);
        return id.startsWith('k') ? { ...aDocument(id), xattrs: new Map(found) } : undefined;
      }),
  } as unknown as Documents;
  const json = Buffer.from('1');
  const { transaction } = aTransaction();
  const documents = new TransactionDocuments(stored, transaction, others, realClock);
  const options = { durability: 'none', signal } as const;
  const change = { cas: 0n, bytes: Buffer.from('{"v":2}'), expiration: 0 };
  await documents.write(keyspace, [{ ...change, kind: 'upsert', id: 'k1' }], options);
  await documents.write(keyspace, [{ ...change, kind: 'insert', id: 'new' }], options);
  transaction.changes.acceptStatement();
  const read = await documents.read(keyspace, ['k1', 'new'], { xattrs: ['note'], signal });
  assert.deepEqual(
    read.map((document) => [String(document?.bytes), document?.xattrs]),
    [
      ['{"v":2}', new Map([['note', json]])],
      ['{"v":2}', undefined],
    ],
  );
  const changed: IndexScan['changed'][] = [];
  const scan = async function* (scanned: IndexScan) {
    changed.push(scanned.changed);
    yield* [];
  };
  const indexes = transactionIndexes({ scan } as unknown as Indexes, transaction, documents);
  const keys = [{ expression: '((meta().`xattrs`).`note`)' }];
  const index = { id: '1', keyspace, keys, condition: '((((meta().`xattrs`).`a``b`).`c`) = 1)' };
  for await (const rows of indexes.scan({ index, signal } as unknown as IndexScan))
    assert.deepEqual(rows, []);
  assert.deepEqual([...(changed[0]?.get('k1')?.xattrs?.keys() ?? [])], ['a`b', 'note']);
});
