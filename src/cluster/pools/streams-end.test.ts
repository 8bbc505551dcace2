import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { update } from '#replog/config-store.ts';
import { aManager, type Sent } from '../../../test/support/manager.ts';
import { type BucketsState, bucketsKey, noBuckets } from '../config/cluster-state.ts';

const jane = '/settings/rbac/users/local/jane';
const putUser = (form: Record<string, string>): [string, Sent] => [jane, { method: 'PUT', form }];

const changes: Record<string, [string, Sent]> = {
  'the account is deleted': [jane, { method: 'DELETE' }],
  'the password has changed': [jane, { method: 'PATCH', form: { password: 'password2' } }],
  'the roles have changed': putUser({ roles: 'bucket_admin[*]' }),
};

describe('streams of the REST API', () => {
  for (const [title, [url, sent]] of Object.entries(changes)) {
    it(`end once ${title}`, { timeout: 120_000 }, async () => {
      const { request } = await aManager();
      assert.equal((await request(...putUser({ password: 'password1', roles: 'ro_admin' }))).status, 200);
      const open = { ended: false };
      const stream = request('/poolsStreaming/default', { as: 'jane:password1' }).finally(() => {
        open.ended = true;
      });
      for (let turns = 0; turns < 20; turns++) await turn();
      // A change of another account ends no stream.
      await request('/settings/rbac/users/local/john', { method: 'PUT', form: { password: 'password1' } });
      for (let turns = 0; turns < 20; turns++) await turn();
      assert.equal(open.ended, false);
      assert.equal((await request(url, sent)).status, 200);
      assert.equal((await stream).status, 200);
    });
  }

  for (const path of ['/pools/default/bucketsStreaming/b', '/pools/default/bs/b'])
    it(`end for ${path} when another bucket has the name, also if the deletion was not seen`, async () => {
      const { request, store } = await aManager();
      const form = { name: 'b', ramQuota: '100', replicaNumber: '0' };
      assert.equal((await request('/pools/default/buckets', { form })).status, 202);
      const open = { ended: false };
      const stream = request(path).finally(() => {
        open.ended = true;
      });
      for (let turns = 0; turns < 20; turns++) await turn();
      await update<BucketsState>(store, bucketsKey, noBuckets(0), ({ byUuid, ...state }) => {
        const [before = assert.fail('no bucket')] = Object.values(byUuid);
        return { ...state, byUuid: { other: { ...before, uuid: 'other' } } };
      });
      for (let turns = 0; turns < 20; turns++) await turn();
      assert.equal(open.ended, true);
      assert.doesNotMatch((await stream).text, /other/);
    });
});
