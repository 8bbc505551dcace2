// Authentication over a real socket; session.test.ts has further tests of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { aDesired, aUser, startService, usualFeatures } from '../../../test/support/data-service.ts';

test('refuses a PLAIN login with another authorization identity', async () => {
  await using service = await startService(
    aDesired({ users: [aUser('admin', 'password'), aUser('other', 'password')] }),
  );
  const client = await service.connect();
  await client.hello(usualFeatures);
  const login = async (message: string) =>
    (await client.ask({ opcode: 0x21, key: Buffer.from('PLAIN'), value: Buffer.from(message) })).status;
  for (const otherId of ['other', 'nobody', ' ', 'Admin']) {
    assert.equal(await login(`${otherId}\0admin\0password`), Status.authError, otherId);
    assert.equal((await client.select('b')).status, Status.noAccess);
  }
  for (const ownId of ['', 'admin'])
    assert.equal(await login(`${ownId}\0admin\0password`), Status.success, ownId);
});
