import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonText } from '#sqlpp/values/json-text.ts';
import { contextOf } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { emptyRequest } from '../request/query-request.ts';
import { kvStatement } from './kv-statement.ts';

const datastore = new MemoryDatastore();
datastore.put(datastore.add('t'), 'k', { a: 1 });
const prepared = (name: string) =>
  kvStatement(name, { ...emptyRequest(), positional: ['t', 'k', {}] }, datastore);

test('EXECUTE __upsert requires the privileges of UPSERT, since it may replace a document', () => {
  const required = (name: string): string[] => prepared(name).privileges.map(({ action }) => action);
  assert.deepEqual(required('__upsert'), ['insert', 'update']);
  assert.deepEqual(required('__insert'), ['insert']);
  assert.deepEqual(required('__update'), ['update']);
  assert.deepEqual(required('__delete'), ['delete']);
  assert.deepEqual(required('__get'), ['select']);
});

test('EXECUTE __get answers JSON for a document that is not JSON', async () => {
  const documentOf = async (isJson: boolean): Promise<unknown> => {
    const stored = { id: 'k', bytes: Buffer.from('{"a":1}'), isJson, cas: 1n, expiration: 0, flags: 0 };
    const context = contextOf(datastore);
    const documents = { ...datastore.documents, read: () => [stored] };
    const statement = prepared('__get');
    const { rows } = statement.program.run(statement, {
      ...context,
      datastore: { ...datastore, documents } as unknown as MemoryDatastore,
    });
    for await (const [row] of rows) return JSON.parse(jsonText(row)).doc;
    return undefined;
  };
  assert.deepEqual(await documentOf(true), { a: 1 });
  assert.equal(await documentOf(false), '<binary (7 b)>');
});
