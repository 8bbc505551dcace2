// External users with a real LDAP server: over REST, and with the SDK at the data port, which authenticates through the manager.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Cluster } from 'couchbase';
import { LdapServerProcess } from '../support/ldap-server.ts';
import { needs } from '../support/needs.ts';
import { NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const password = 'jane-secret';

const send = async (node: NodeProcess, method: string, path: string, form: Record<string, string>) =>
  assert.equal((await node.request(path, method, form)).status, 200, path);

/** The status of a REST request with these credentials, `name:password`. */
async function whoami(node: NodeProcess, credentials: string): Promise<number> {
  const headers = { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
  return (await fetch(`${node.ready.node.rest}/whoami`, { headers })).status;
}

/** Connects the SDK over TLS, because it uses PLAIN only there. */
async function connectSdk(node: NodeProcess, username: string, secret: string): Promise<Cluster> {
  const trustStorePath = join(node.dataDir, 'ca-for-sdk.pem');
  writeFileSync(trustStorePath, await (await node.request('/pools/default/certificate')).text());
  return connect(`couchbases://127.0.0.1:${node.ready.node.kvTls.split(':').at(-1)}`, {
    username,
    password: secret,
    security: { trustStorePath },
  });
}

it('external users log in over REST and at the data port with their LDAP password', {
  skip: needs('slapd'),
}, async () => {
  await using ldap = await LdapServerProcess.start([{ name: 'jane', password }]);
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  const userDNMapping = JSON.stringify({ template: ldap.template });
  const server = { hosts: '127.0.0.1', port: String(ldap.port), userDNMapping };
  await send(node, 'POST', '/settings/ldap', { authenticationEnabled: 'true', ...server });
  await send(node, 'PUT', '/settings/rbac/users/external/jane', { roles: 'data_writer[b],data_reader[b]' });
  assert.deepEqual([await whoami(node, `jane:${password}`), await whoami(node, 'jane:wrong')], [200, 401]);
  const cluster = await connectSdk(node, 'jane', password);
  const collection = cluster.bucket('b').defaultCollection();
  await collection.upsert('k', { by: 'jane' });
  assert.deepEqual((await collection.get('k')).content, { by: 'jane' });
  await cluster.close();
  await assert.rejects(async () => {
    const wrong = await connectSdk(node, 'jane', 'wrong');
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
  await send(node, 'POST', '/settings/ldap', {
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
  await send(node, 'PUT', '/settings/rbac/groups/writers', group);
  // The first login of jane is at the data port.
  const cluster = await connectSdk(node, 'jane', password);
  const collection = cluster.bucket('b').defaultCollection();
  await collection.upsert('k', { by: 'jane' });
  assert.deepEqual((await collection.get('k')).content, { by: 'jane' });
  await cluster.close();
  assert.deepEqual([await whoami(node, `jane:${password}`), await whoami(node, 'jane:wrong')], [200, 401]);
  for (const [name, secret] of [
    ['joan', password],
    ['jane', 'wrong'],
  ] as const) {
    await assert.rejects(async () => {
      const refused = await connectSdk(node, name, secret);
      await refused.bucket('b').defaultCollection().get('k');
    });
  }
});
