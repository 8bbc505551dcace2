import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { IndexCatalog } from '../scan/index-catalog.ts';
import { LinkedIndexAdmin } from './linked-index-admin.ts';

test('the creation of an index is refused if the index or its collection was dropped before the answer', async () => {
  const calls = { call: <T>() => Promise.resolve({ kind: 'created', id: 'abc' } as T) };
  const admin = new LinkedIndexAdmin(calls, new IndexCatalog());
  const created = admin.create({ name: 'i' } as never, {
    ifNotExists: false,
    signal: AbortSignal.timeout(1_000),
  });
  await assert.rejects(created, /the index was dropped before it was complete/);
});

test('a build waits for the indexes that it began to build, and not for later ones of the same names', async () => {
  const catalog = new IndexCatalog();
  const later = { ...aDefinition(['`n`'], { isDeferred: true }), id: 'later' };
  catalog.set([{ definition: later, report: undefined }]);
  const calls = { call: <T>() => Promise.resolve({ missing: [], ids: ['earlier'] } as T) };
  const admin = new LinkedIndexAdmin(calls, catalog);
  const built = admin.build(later.keyspace, [later.name], AbortSignal.timeout(1_000));
  await assert.rejects(built, /the index was dropped before it was complete/);
});
