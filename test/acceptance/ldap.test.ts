// External users with a real LDAP server: over REST, and with the SDK at the data port, which authenticates through the manager.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { connect } from 'couchbase';
import { LdapServerProcess } from '../support/ldap-server.ts';
import { needs } from '../support/needs.ts';
import { NodeProcess } from '../support/node-process.ts';

const password = 'jane-secret';

it('external users log in over REST and at the data port with their LDAP password', {
  skip: needs('slapd'),
}, async () => {
  await using ldap = await LdapServerProcess.start([{ name: 'jane', password }]);
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  const send = async (method: string, path: string, form: Record<string, string>) =>
    assert.equal((await node.request(path, method, form)).status, 200, path);
  const userDNMapping = JSON.stringify({ template: ldap.template });
  const server = { hosts: '127.0.0.1', port: String(ldap.port), userDNMapping };
  await send('POST', '/settings/ldap', { authenticationEnabled: 'true', ...server });
  await send('PUT', '/settings/rbac/users/external/jane', { roles: 'data_writer[b],data_reader[b]' });
  const whoami = async (pair: string) => {
    const headers = { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
    return (await fetch(`${node.ready.node.rest}/whoami`, { headers })).status;
  };
  assert.deepEqual([await whoami(`jane:${password}`), await whoami('jane:wrong')], [200, 401]);
  const trustStorePath = join(node.dataDir, 'ca-for-sdk.pem');
  writeFileSync(trustStorePath, await (await node.request('/pools/default/certificate')).text());
  // The SDK uses PLAIN only over TLS.
  const open = (secret: string) =>
    connect(`couchbases://127.0.0.1:${node.ready.node.kvTls.split(':').at(-1)}`, {
      username: 'jane',
      password: secret,
      security: { trustStorePath },
      timeouts: { bootstrapTimeout: 5_000, connectTimeout: 5_000 },
    });
  const cluster = await open(password);
  const collection = cluster.bucket('b').defaultCollection();
  await collection.upsert('k', { by: 'jane' });
  assert.deepEqual((await collection.get('k')).content, { by: 'jane' });
  await cluster.close();
  await assert.rejects(async () => {
    const wrong = await open('wrong');
    await wrong.bucket('b').defaultCollection().get('k');
  });
});

it('users without a local entry have the roles of their LDAP groups, over REST and at the data port', {
  skip: needs('slapd'),
}, async () => {
  const groups = { writers: ['jane'], others: ['joan'] };
  await using ldap = await LdapServerProcess.start(
    [
      { name: 'jane', password },
      { name: 'joan', password },
    ],
    groups,
  );
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  const send = async (method: string, path: string, form: Record<string, string>) =>
    assert.equal((await node.request(path, method, form)).status, 200, path);
  await send('POST', '/settings/ldap', {
    authenticationEnabled: 'true',
    authorizationEnabled: 'true',
    hosts: '127.0.0.1',
    port: String(ldap.port),
    bindDN: ldap.administrator.dn,
    bindPass: ldap.administrator.password,
    groupsQuery: 'dc=test??one?(member=%D)',
    userDNMapping: JSON.stringify({ template: ldap.template }),
  });
  const group = { roles: 'data_writer[b],data_reader[b]', ldap_group_ref: 'cn=writers,dc=test' };
  await send('PUT', '/settings/rbac/groups/writers', group);
  const trustStorePath = join(node.dataDir, 'ca-for-sdk.pem');
  writeFileSync(trustStorePath, await (await node.request('/pools/default/certificate')).text());
  const open = (username: string, secret: string) =>
    connect(`couchbases://127.0.0.1:${node.ready.node.kvTls.split(':').at(-1)}`, {
      username,
      password: secret,
      security: { trustStorePath },
      timeouts: { bootstrapTimeout: 5_000, connectTimeout: 5_000 },
    });
  // The first login of jane is at the data port.
  const cluster = await open('jane', password);
  const collection = cluster.bucket('b').defaultCollection();
  await collection.upsert('k', { by: 'jane' });
  assert.deepEqual((await collection.get('k')).content, { by: 'jane' });
  await cluster.close();
  const whoami = async (pair: string) => {
    const headers = { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
    return (await fetch(`${node.ready.node.rest}/whoami`, { headers })).status;
  };
  assert.deepEqual([await whoami(`jane:${password}`), await whoami('jane:wrong')], [200, 401]);
  for (const [name, secret] of [
    ['joan', password],
    ['jane', 'wrong'],
  ] as const) {
    await assert.rejects(async () => {
      const refused = await open(name, secret);
      await refused.bucket('b').defaultCollection().get('k');
    });
  }
});
