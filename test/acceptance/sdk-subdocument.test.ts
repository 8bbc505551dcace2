// Every operation on parts of documents that the official SDK has, with every store semantics and path option.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  CasMismatchError,
  type Collection,
  DocumentExistsError,
  DocumentNotFoundError,
  LookupInMacro,
  LookupInSpec,
  MutateInMacro,
  MutateInSpec,
  PathExistsError,
  PathInvalidError,
  PathMismatchError,
  PathNotFoundError,
  StoreSemantics,
} from 'couchbase';
import { SdkNode } from '../support/sdk-node.ts';

const start = { n: 1, list: [1, 2, 3], nested: { a: 'x' } };

/** Each operation with the resulting document. */
const changes: [string, MutateInSpec, unknown][] = [
  ['insert', MutateInSpec.insert('new', true), { ...start, new: true }],
  [
    'insert, and create the parents',
    MutateInSpec.insert('p.q', 1, { createPath: true }),
    { ...start, p: { q: 1 } },
  ],
  ['upsert', MutateInSpec.upsert('n', 'two'), { ...start, n: 'two' }],
  [
    'upsert, and create the parents',
    MutateInSpec.upsert('p.q', 1, { createPath: true }),
    { ...start, p: { q: 1 } },
  ],
  ['replace', MutateInSpec.replace('nested.a', null), { ...start, nested: { a: null } }],
  ['remove', MutateInSpec.remove('list[-1]'), { ...start, list: [1, 2] }],
  ['append', MutateInSpec.arrayAppend('list', 4), { ...start, list: [1, 2, 3, 4] }],
  [
    'append many',
    MutateInSpec.arrayAppend('list', [4, 5], { multi: true }),
    { ...start, list: [1, 2, 3, 4, 5] },
  ],
  ['prepend', MutateInSpec.arrayPrepend('list', 0), { ...start, list: [0, 1, 2, 3] }],
  [
    'prepend to an array that it creates',
    MutateInSpec.arrayPrepend('l', 0, { createPath: true }),
    { ...start, l: [0] },
  ],
  ['insert into an array', MutateInSpec.arrayInsert('list[1]', 9), { ...start, list: [1, 9, 2, 3] }],
  ['add a missing element', MutateInSpec.arrayAddUnique('list', 7), { ...start, list: [1, 2, 3, 7] }],
  ['increment', MutateInSpec.increment('n', 5), { ...start, n: 6 }],
  ['decrement', MutateInSpec.decrement('n', 5), { ...start, n: -4 }],
  [
    'increment, and create the parents',
    MutateInSpec.increment('c.d', 1, { createPath: true }),
    { ...start, c: { d: 1 } },
  ],
  ['replace the whole document', MutateInSpec.replace('', { whole: 1 }), { whole: 1 }],
];

const refusals: [string, MutateInSpec, new (...args: never[]) => Error][] = [
  ['insert at an existing path', MutateInSpec.insert('n', 1), PathExistsError],
  ['replace a missing path', MutateInSpec.replace('z', 1), PathNotFoundError],
  ['remove a missing path', MutateInSpec.remove('z'), PathNotFoundError],
  ['insert below a missing path', MutateInSpec.insert('p.q', 1), PathNotFoundError],
  ['append to a number', MutateInSpec.arrayAppend('n', 1), PathMismatchError],
  ['add an existing element', MutateInSpec.arrayAddUnique('list', 2), PathExistsError],
  ['insert beyond the end of an array', MutateInSpec.arrayInsert('list[9]', 1), PathNotFoundError],
  ['increment a string', MutateInSpec.increment('nested.a', 1), PathMismatchError],
  ['a malformed path', MutateInSpec.upsert('a..b[', 1), PathInvalidError],
];

describe('parts of documents in the official SDK', () => {
  let sdk: SdkNode;
  let collection: Collection;

  before(async () => {
    sdk = await SdkNode.start();
    collection = sdk.collection;
  });
  after(() => sdk?.[Symbol.asyncDispose]());

  for (const [operation, spec, expected] of changes) {
    test(`changes a document: ${operation}`, async () => {
      await collection.upsert(operation, start);
      await collection.mutateIn(operation, [spec]);
      assert.deepEqual((await collection.get(operation)).content, expected);
    });
  }

  test('refuses operations that do not fit the document, and changes nothing', async () => {
    await collection.upsert('strict', start);
    for (const [operation, spec, error] of refusals) {
      await assert.rejects(
        collection.mutateIn('strict', [MutateInSpec.upsert('n', 99), spec]),
        error,
        operation,
      );
    }
    assert.deepEqual((await collection.get('strict')).content, start);
  });

  test('mutateIn inserts, upserts or replaces as requested, and checks the CAS', async () => {
    const specs = [MutateInSpec.upsert('a', 1)];
    const as = (storeSemantics: StoreSemantics) => collection.mutateIn('made', specs, { storeSemantics });
    await assert.rejects(as(StoreSemantics.Replace), DocumentNotFoundError);
    const { cas } = await as(StoreSemantics.Insert);
    await assert.rejects(as(StoreSemantics.Insert), DocumentExistsError);
    await as(StoreSemantics.Upsert);
    await assert.rejects(collection.mutateIn('made', specs, { cas }), CasMismatchError);
  });

  test('a mutation of the whole document removes it', async () => {
    await collection.upsert('whole', start);
    await collection.mutateIn('whole', [MutateInSpec.remove('')]);
    await assert.rejects(collection.get('whole'), DocumentNotFoundError);
  });

  test('lookups return values, absence, counts and types', async () => {
    await collection.upsert('looked', start);
    const found = await collection.lookupIn('looked', [
      LookupInSpec.get(''),
      LookupInSpec.get('list[-1]'),
      LookupInSpec.exists('nested.a'),
      LookupInSpec.exists('nested.z'),
      LookupInSpec.count('list'),
      LookupInSpec.count(''),
      LookupInSpec.get('z'),
      LookupInSpec.get('n.m'),
      LookupInSpec.count('n'),
    ]);
    assert.deepEqual(
      found.content.slice(0, 6).map(({ value }) => value),
      [start, 3, true, false, 3, 3],
    );
    assert.ok(found.content[6]?.error instanceof PathNotFoundError);
    assert.ok(found.content[7]?.error instanceof PathMismatchError);
    assert.ok(found.content[8]?.error instanceof PathMismatchError);
    await assert.rejects(collection.lookupIn('missing', [LookupInSpec.get('a')]), DocumentNotFoundError);
  });

  test('stores attributes with the body, and expands macros', async () => {
    await collection.upsert('attributes', start);
    const { cas } = await collection.mutateIn('attributes', [
      MutateInSpec.upsert('meta.by', 'me', { xattr: true, createPath: true }),
      MutateInSpec.upsert('meta.cas', MutateInMacro.Cas, { xattr: true, createPath: true }),
      MutateInSpec.upsert('meta.seqno', MutateInMacro.SeqNo, { xattr: true }),
      MutateInSpec.upsert('meta.crc', MutateInMacro.ValueCrc32c, { xattr: true }),
    ]);
    const found = await collection.lookupIn('attributes', [
      LookupInSpec.get('meta', { xattr: true }),
      LookupInSpec.get(LookupInMacro.Cas),
      LookupInSpec.get(LookupInMacro.SeqNo),
      LookupInSpec.get(LookupInMacro.IsDeleted),
      LookupInSpec.get(LookupInMacro.LastModified),
      LookupInSpec.get(LookupInMacro.ValueSizeBytes),
      LookupInSpec.get(LookupInMacro.Expiry),
      LookupInSpec.get(LookupInMacro.RevId),
    ]);
    const [meta, shownCas, seqno, ...rest] = found.content.map(({ value }) => value);
    assert.equal(meta.by, 'me');
    const bytes = Buffer.from(meta.cas.slice(2), 'hex');
    assert.equal(`0x${bytes.swap64().toString('hex')}`, shownCas);
    assert.equal(BigInt(shownCas), BigInt(String(cas)));
    assert.equal(meta.seqno, seqno);
    assert.match(meta.crc, /^0x[0-9a-f]{8}$/);
    assert.deepEqual(rest.slice(0, 1), [false]);
    assert.ok(Math.abs(Number(rest[1]) - Date.now() / 1000) < 60);
    assert.deepEqual(rest.slice(3), [0, '2']);
    assert.deepEqual((await collection.get('attributes')).content, start);
  });

  test('reads attributes of deleted documents on request', async () => {
    await collection.upsert('gone', start);
    await collection.mutateIn('gone', [MutateInSpec.upsert('_kept', 1, { xattr: true })]);
    await collection.remove('gone');
    const specs = [LookupInSpec.get('_kept', { xattr: true }), LookupInSpec.get(LookupInMacro.IsDeleted)];
    await assert.rejects(collection.lookupIn('gone', specs), DocumentNotFoundError);
    const found = await collection.lookupIn('gone', specs, { accessDeleted: true });
    assert.deepEqual(
      found.content.map(({ value }) => value),
      [1, true],
    );
  });
});
