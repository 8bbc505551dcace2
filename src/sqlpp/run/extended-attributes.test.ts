// META(alias).xattrs.name in every clause: reads return only the attributes that a statement names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import type { Documents, StoredDocument } from '../datastore/documents.ts';
import { metaOf } from './documents.ts';

/** `with` has the attribute foo, `without` has none. Reads return only the requested attributes, as those of the data service do. */
function aStore(): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const id of ['with', 'without']) datastore.put(t, id, { y: 0 });
  const answered = (document: StoredDocument | undefined, names: readonly string[] = []) =>
    document?.id === 'with' && names.includes('foo')
      ? { ...document, xattrs: new Map([['foo', Buffer.from('"v"')]]) }
      : document;
  const { read, scan } = datastore.documents;
  const documents: Documents = {
    ...datastore.documents,
    read: async (keyspace, ids, options) =>
      (await read(keyspace, ids, options)).map((document) => answered(document, options.xattrs)),
    scan: async function* scanned(keyspace, options) {
      for await (const batch of scan(keyspace, options))
        yield batch.map((document) => answered(document, options.xattrs) as StoredDocument);
    },
  };
  return Object.assign(datastore, { documents });
}

test('every clause of a statement reads extended attributes', async () => {
  const keys = 'ON KEY s.k WHEN MATCHED THEN';
  const merge = 'MERGE INTO t USING [{"k": "with"}, {"k": "without"}] s';
  for (const [statement, rows] of [
    ['SELECT RAW META(t).xattrs.foo FROM t', ['v', null]],
    ['SELECT RAW (SELECT RAW META(t).xattrs.foo FROM [1] q)[0] FROM t', ['v', null]],
    [
      'SELECT RAW META().id FROM t WHERE EXISTS (SELECT 1 FROM [1] q WHERE META(t).xattrs.foo = "v")',
      ['with'],
    ],
    ['SELECT RAW META().id FROM t WHERE (WITH w AS (META(t).xattrs.foo) SELECT RAW w)[0] = "v"', ['with']],
    ['DELETE FROM t WHERE META().xattrs.foo IS MISSING RETURNING RAW META().id', ['without']],
    ['DELETE FROM t USE KEYS ["with"] WHERE META(t).xattrs.foo IS MISSING RETURNING RAW META().id', []],
    ['DELETE FROM t WHERE y = 0 RETURNING RAW META().xattrs.foo', ['v', null]],
    ['UPDATE t SET y = META().xattrs.["foo"] RETURNING RAW y', ['v', null]],
    ['UPDATE t SET y = 1 WHERE META().xattrs.foo = "v" RETURNING RAW META().id', ['with']],
    [`${merge} ${keys} UPDATE SET t.y = META(t).xattrs.foo RETURNING RAW t.y`, ['v', null]],
    [`${merge} ${keys} DELETE WHERE META(t).xattrs.foo IS MISSING RETURNING RAW META(t).id`, ['without']],
  ] as const)
    assert.deepEqual(await query(aStore(), statement), rows, statement);
});

test('SET to MISSING removes the attribute of the documents that have it', async () => {
  for (const value of ['MISSING', 'y.none', 'CASE WHEN FALSE THEN 1 ELSE MISSING END']) {
    const datastore = aStore();
    const removed: string[] = [];
    const { write } = datastore.documents;
    const documents: Documents = {
      ...datastore.documents,
      write: (keyspace, writes, options) => {
        for (const { id, xattrs } of writes) if (xattrs?.get('foo') === null) removed.push(id);
        return write(keyspace, writes, options);
      },
    };
    await query(Object.assign(datastore, { documents }), `UPDATE t SET META().xattrs.foo = ${value}`);
    assert.deepEqual(removed, ['with'], value);
  }
});

test('names that JavaScript objects inherit are not attributes of a document', async () => {
  for (const change of ['SET META().xattrs.toString = MISSING', 'UNSET META().xattrs.`constructor`']) {
    const datastore = aStore();
    const written: (readonly string[])[] = [];
    const { write } = datastore.documents;
    const documents: Documents = {
      ...datastore.documents,
      write: (keyspace, writes, options) => {
        for (const { xattrs } of writes) written.push([...(xattrs?.keys() ?? [])]);
        return write(keyspace, writes, options);
      },
    };
    await query(Object.assign(datastore, { documents }), `UPDATE t ${change}`);
    assert.ok(written.length > 0);
    assert.deepEqual(written.flat(), [], change);
  }
});

test('META() has no xattrs where the document has none of the attributes that were read, by key as in a scan', () => {
  const read = { id: 'a', bytes: Buffer.from('1'), isJson: true, cas: 1n, flags: 0, expiration: 0 };
  const meta = { cas: 1, expiration: 0, flags: 0, id: 'a', type: 'json' };
  assert.deepEqual({ ...(metaOf(read) as object) }, meta);
  assert.deepEqual({ ...(metaOf({ ...read, xattrs: new Map() }) as object) }, meta);
});
