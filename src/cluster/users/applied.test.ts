// A change of an account is answered after it is in effect at the data port.
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { aManager } from '../../../test/support/manager.ts';
import { applyWaitMs } from '../config/apply-wait.ts';

const users = '/settings/rbac/users/local';
const externals = '/settings/rbac/users/external';
const groups = '/settings/rbac/groups';

test('the node answers changes of users, groups and the administrator once the data service applies them, or after ten seconds', async (t) => {
  const { request, kv, clock } = await aManager();
  const form = { password: 'secret1', roles: 'bucket_full_access[*]' };
  await request(`${groups}/crew`, { method: 'PUT', form: { roles: 'ro_admin' } });
  for (const name of ['jane', 'joe']) await request(`${users}/${name}`, { method: 'PUT', form });
  const apply = kv.apply.bind(kv);
  const names = () => kv.desired?.users.map(({ name }) => name).sort();
  const calls = [
    { url: `${users}/jane`, sent: { method: 'DELETE' }, seen: ['Administrator', 'joe'] },
    { url: `${groups}/crew`, sent: { method: 'DELETE' }, seen: ['Administrator', 'joe'] },
    { url: `${users}/max`, sent: { method: 'PUT', form }, seen: ['Administrator', 'joe', 'max'] },
    {
      url: `${externals}/eva`,
      sent: { method: 'PUT', form: { roles: 'ro_admin' } },
      seen: ['Administrator', 'eva', 'joe', 'max'],
    },
    {
      url: '/controller/changePassword',
      sent: { form: { password: 'another1' } },
      seen: ['Administrator', 'eva', 'joe', 'max'],
    },
    {
      url: '/settings/web',
      sent: {
        as: 'Administrator:another1',
        form: { port: 'SAME', username: 'Administrator', password: 'password' },
      },
      seen: ['Administrator', 'eva', 'joe', 'max'],
    },
    { url: `${externals}/eva`, sent: { method: 'DELETE' }, seen: ['Administrator', 'joe', 'max'] },
  ] as const;
  t.plan(calls.length * 3 + 1);
  for (const { url, sent, seen } of calls) {
    const gate = deferred<void>();
    const applying = deferred<void>();
    kv.apply = async (desired) => {
      applying.resolve();
      await gate.promise;
      return apply(desired);
    };
    let answered = false;
    const answer = request(url, sent).finally(() => {
      answered = true;
    });
    await applying.promise;
    // The answer waits although nine of the ten seconds have passed.
    clock.advance(9_000);
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    t.assert.equal(answered, false, url);
    gate.resolve();
    t.assert.equal((await answer).status, 200);
    t.assert.deepEqual(names(), seen);
  }
  const never = deferred<void>();
  const applying = deferred<void>();
  kv.apply = async (desired) => {
    applying.resolve();
    await never.promise;
    return apply(desired);
  };
  const deletion = request(`${users}/joe`, { method: 'DELETE' });
  await applying.promise;
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(applyWaitMs);
  t.assert.equal((await deletion).status, 200);
  never.resolve();
});
