// A change of a password is answered, and the password cached for its first use, after the data service applies it: another may be set until then.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kdf } from '#auth/kdf.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { createUsers } from './users.feature.ts';

const quickKdf: Kdf = {
  scrypt: async (password, salt) => Buffer.concat([salt, Buffer.from(password)]),
  pbkdf2: async (password, salt) => Buffer.concat([salt, Buffer.from(password)]),
};

test('a password that is replaced before its change was answered does not log in', async () => {
  let meanwhile: (() => Promise<void>) | null = null;
  const clock = new ManualClock();
  const { service, authenticator, ...users } = createUsers({
    store: new MemoryConfigStore(),
    targets: { bucket: () => null, onChange: () => ({ stop() {} }) },
    kdf: quickKdf,
    clock,
    random: realRandom,
    edition: 'enterprise',
    applied: async () => {
      const next = meanwhile;
      meanwhile = null;
      await next?.();
    },
  });
  await users.start();
  await service.setAdministrator('Administrator', 'password');
  const put = (password: string) => service.putUser('joe', service.readUser('joe', { password }));
  const admits = async (password: string): Promise<boolean> => {
    const login = authenticator.authenticate({ name: 'joe', password, remoteAddress: '192.0.2.1' });
    const isRight = login.then((caller) => caller !== null);
    const ended = isRight.then(() => true);
    while (!(await Promise.race([ended, new Promise((done) => setImmediate(done, false))])))
      clock.advance(100);
    return await isRight;
  };
  for (const set of [put, (password: string) => service.changePassword('joe', password)]) {
    await put('before');
    meanwhile = () => service.changePassword('joe', 'newest1');
    await set('replaced');
    assert.deepEqual([await admits('replaced'), await admits('newest1')], [false, true]);
  }
});
