import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aBucket } from '../../../test/support/data-service.ts';
import { Privilege } from '../admin.ts';
import { BucketAccess } from './access.ts';
import { Collections } from './collections.ts';

test('the privileges in scopes and collections are found by their ids in lower-case hexadecimal', () => {
  const { manifest } = aBucket('b');
  const collection = (uid: number) => ({ uid: uid.toString(16), name: `c${uid}` });
  const ids = [15, 16, 26, 31, 0x1ab];
  const shops = { uid: '1f', name: 'shops', collections: ids.map(collection) };
  const collections = new Collections({ ...manifest, scopes: [...manifest.scopes, shops] });
  for (const id of ids) {
    const privileges = { [id.toString(16)]: Privilege.read };
    const grant = { privileges: 0, scopes: { '1f': { privileges: 0, collections: privileges } } };
    const access = new BucketAccess({ node: 0, buckets: { b: grant } }, 'b', collections);
    assert.deepEqual(
      ids.map((other) => access.bitsOf(other)),
      ids.map((other) => (other === id ? Privilege.read : 0)),
    );
  }
  const scopeGrant = { privileges: 0, scopes: { '1f': { privileges: Privilege.upsert } } };
  const inScope = new BucketAccess({ node: 0, buckets: { b: scopeGrant } }, 'b', collections);
  assert.deepEqual(
    ids.map((id) => inScope.bitsOf(id)),
    ids.map(() => Privilege.upsert),
  );
  assert.equal(inScope.bitsOf(0), 0);
});
