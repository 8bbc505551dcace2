import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { defaultLdapSettings } from './ldap-settings.ts';
import { LdapUsers } from './ldap-users.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('groups are read again after their lifetime, also after a time when the settings could not be read', async () => {
  const clock = new ManualClock();
  let isReadable = false;
  const users = new LdapUsers({
    clock,
    log: silentLog,
    server: { groups: async () => ({ kind: 'found', groups: ['new'] }) },
    readSettings: async () => {
      if (!isReadable) throw new Error('the settings are damaged');
      return defaultLdapSettings;
    },
  });
  users.cache('jane', ['old'], defaultLdapSettings);
  clock.advance(defaultLdapSettings.cacheValueLifetime);
  await turn();
  assert.deepEqual(users.groupsOf('jane'), ['old']);
  isReadable = true;
  clock.advance(defaultLdapSettings.cacheValueLifetime);
  await turn();
  assert.deepEqual(users.groupsOf('jane'), ['new']);
  users.stop();
});
