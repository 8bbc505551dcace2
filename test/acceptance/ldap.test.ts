// External users with a real LDAP server: over REST, and with the SDK at the data port, which authenticates through the cluster manager.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { AuthenticationFailureError, type Cluster } from 'couchbase';
import { portNumber } from '../support/addresses.ts';
import { LdapServerProcess } from '../support/ldap-server.ts';
import { needs } from '../support/needs.ts';
import { NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const password = 'jane-secret';

const send = async (node: NodeProcess, method: string, path: string, form: Record<string, string>) =>
  assert.equal((await node.request(path, method, form)).status, 200, path);

/** The status of a REST request with these credentials, `name:password`. */
async function whoAmI(node: NodeProcess, credentials: string): Promise<number> {
  const headers = { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
  return (await fetch(`${node.ready.node.rest}/whoami`, { headers })).status;
}

/** Connects the SDK over TLS, because it uses PLAIN only there. */
async function connectSdk(node: NodeProcess, username: string, secret: string): Promise<Cluster> {
  const trustStorePath = join(node.dataDir, 'ca-for-sdk.pem');
  writeFileSync(trustStorePath, await (await node.request('/pools/default/certificate')).text());
  return connect(`couchbases://127.0.0.1:${portNumber(node.ready.node.kvTls)}`, {
    username,
    password: secret,
    security: { trustStorePath },
  });
}

/** Writes and reads a document of the bucket `b` as the user. */
async function writeAndRead(node: NodeProcess, name: string, secret: string): Promise<void> {
  const cluster = await connectSdk(node, name, secret);
  try {
    const collection = cluster.bucket('b').defaultCollection();
    await collection.upsert('k', { by: name });
    assert.deepEqual((await collection.get('k')).content, { by: name });
  } finally {
    await cluster.close();
  }
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
  assert.deepEqual([await whoAmI(node, `jane:${password}`), await whoAmI(node, 'jane:wrong')], [200, 401]);
  await writeAndRead(node, 'jane', password);
  await assert.rejects(writeAndRead(node, 'jane', 'wrong'), AuthenticationFailureError);
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
  await writeAndRead(node, 'jane', password);
  assert.deepEqual([await whoAmI(node, `jane:${password}`), await whoAmI(node, 'jane:wrong')], [200, 401]);
  for (const [name, secret] of [
    ['joan', password],
    ['jane', 'wrong'],
  ] as const)
    await assert.rejects(writeAndRead(node, name, secret), AuthenticationFailureError);
});
