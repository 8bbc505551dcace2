import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { Status } from '#wire/status.ts';
import { storeDocument } from './store-document.ts';

it('does not blame another writer for what a request with a lost connection may have done', async () => {
  const outcome = (kind: StoreRequest['kind'], status: number, isLost: boolean): Promise<unknown> =>
    storeDocument(
      {
        bucket: 'b',
        store: async (_collectionId, requests, onLost) => {
          if (isLost) onLost?.(0);
          return requests.map(() => ({ status, cas: 7n }) as never);
        },
      },
      0,
      { kind, key: 'k', value: Buffer.from('1'), cas: 0n, expiry: 0 },
    ).catch((error: Error) => error.message);
  assert.equal(await outcome('add', Status.keyExists, false), 'document "k" already exists');
  assert.equal(await outcome('replace', Status.keyExists, false), 'document "k" has another CAS');
  assert.equal(
    await outcome('remove', Status.keyNotFound, false),
    'bucket "b" has no document "k" in this collection',
  );
  assert.equal(
    await outcome('replace', Status.keyNotFound, true),
    'bucket "b" has no document "k" in this collection',
  );
  for (const [kind, status, done] of [
    ['add', Status.keyExists, 'stored'],
    ['replace', Status.keyExists, 'stored'],
    ['remove', Status.keyNotFound, 'deleted'],
  ] as const)
    assert.equal(
      await outcome(kind, status, true),
      `document "k": the connection was lost, and it is not known whether this command has ${done} it; see divan doc get`,
    );
  assert.deepEqual(await outcome('add', Status.success, true), {
    value: { key: 'k', cas: '7' },
    text: '"k" is stored',
  });
});
