import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { bucketsKey, noBuckets } from '../config/cluster-state.ts';
import { CreatedFiles } from './created-files.ts';

test('a bucket that the configuration has is not deleted, although this node has seen only an older state', async () => {
  const store = new MemoryConfigStore();
  await store.put('files/made/a', ['there', 'gone'], 0);
  await store.put(bucketsKey, { memoryQuotaMb: 0, byUuid: { there: { uuid: 'there' } } }, 0);
  const files = new CreatedFiles(store, 'a');
  assert.deepEqual(await files.ofDeletedBuckets(noBuckets(0)), ['gone']);
});

test('the mark of a bucket stays until its files were removed', async () => {
  const store = new MemoryConfigStore();
  await store.put('files/made/a', ['unknown', 'deleted'], 0);
  const files = new CreatedFiles(store, 'a');
  await files.record({ buckets: [], deletedBuckets: ['deleted'] }, []);
  assert.deepEqual((await store.get('files/made/a'))?.value, ['unknown']);
});
