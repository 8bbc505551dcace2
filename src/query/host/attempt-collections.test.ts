import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import { StoredAttemptCollections } from './attempt-collections.adapter.ts';

const collection: KeyspaceName = { namespace: 'default', bucket: 'b', scope: 's', collection: 'c' };

test('a collection whose name could not be written to the file is written with the next attempt', () => {
  const parent = mkdtempSync(join(tmpdir(), 'divan-attempts-'));
  const folder = join(parent, 'data');
  const collections = new StoredAttemptCollections(folder);
  assert.throws(() => collections.add(collection), { code: 'ENOENT' });
  assert.deepEqual(collections.all(), []);
  mkdirSync(folder);
  collections.add(collection);
  assert.deepEqual(new StoredAttemptCollections(folder).all(), [collection]);
  rmSync(parent, { recursive: true });
});
