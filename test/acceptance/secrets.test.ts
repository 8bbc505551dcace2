// Sets known secrets through every interface that accepts one, then reads every output, the log at its
// lowest level and every file of the node, and searches them. A feature with a new secret adds a step to `plantings`.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { settingsCatalog } from '../../src/cluster/settings/catalog.ts';
import { portNumber } from '../support/addresses.ts';
import { KvConnection } from '../support/kv-connection.ts';
import { startMailServer } from '../support/mail-server.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { encryptedKey, fillInbox, OpensslAuthority } from '../support/openssl.ts';
import { WatchedNode } from '../support/secret-search.ts';

const run = randomBytes(6).toString('hex');
/** Long enough for every policy, with characters that forms, URLs and JSON escape. */
const aSecret = (title: string) => `Pl4nt "${title}" ${run}/+&=`;

/** The first line of a key after `BEGIN`: it contains bytes that differ between keys. */
const firstKeyLine = (pem: string): string => pem.split('\n')[1] as string;

const alerts = { enabled: 'true', recipients: 'a@b', emailHost: '127.0.0.1', emailUser: 'u' };

const plantings: Record<string, (watched: WatchedNode) => Promise<void>> = {
  async 'a new password of the administrator'(watched) {
    const { password } = watched;
    const next = watched.secret('administrator', aSecret('administrator'));
    const form = { username: 'Administrator', password: next, port: 'SAME' };
    const changed = await watched.call('/settings/web', { form });
    assert.equal(changed.status, 200, changed.text);
    watched.password = next;
    await watched.call('/settings/web', { form: { ...form, port: '1' } });
    await watched.call('/pools', { as: `Administrator:${password}` });
  },
  async 'passwords of users'(watched) {
    const [first, second, third] = ['user 1', 'user 2', 'user 3'].map((title) =>
      watched.secret(title, aSecret(title)),
    ) as [string, string, string];
    const path = '/settings/rbac/users/local/planted';
    const put = await watched.call(path, {
      method: 'PUT',
      form: { password: first, roles: 'data_reader[b]' },
    });
    assert.equal(put.status, 200, put.text);
    assert.equal((await watched.call(path, { method: 'PATCH', form: { password: second } })).status, 200);
    const own = await watched.call('/controller/changePassword', {
      as: `planted:${second}`,
      form: { password: third },
    });
    assert.equal(own.status, 200, own.text);
    await watched.call(path, { method: 'PUT', form: { password: first, roles: 'no_such_role' } });
    await watched.call('/settings/rbac/users/local/%40bad', {
      method: 'PUT',
      form: { password: first, roles: 'admin' },
    });
    assert.equal((await watched.call('/pools', { as: `planted:${third}` })).status, 200);
  },
  async 'the password of a remote cluster'(watched) {
    const password = watched.secret('remote cluster', aSecret('remote cluster'));
    await using target = await NodeProcess.start({ args: ['--bucket', 'b'], password });
    const reference = {
      name: 'there',
      hostname: new URL(target.ready.node.rest).host,
      username: 'Administrator',
    };
    const path = '/pools/default/remoteClusters';
    const reply = await watched.call(path, { form: { ...reference, password } });
    assert.equal(reply.status, 200, reply.text);
    await watched.call(`${path}?just_validate=1`, {
      form: { ...reference, hostname: '127.0.0.1:1', password },
    });
    await watched.call(`${path}/there`, { form: { ...reference, name: '', password } });
    const replication = { fromBucket: 'b', toCluster: 'there', toBucket: 'b', replicationType: 'continuous' };
    const created = await watched.call('/controller/createReplication', { form: replication });
    assert.equal(created.status, 200, created.text);
    // The replication fails while the target cannot be reached, and says so.
    await target.stop('SIGKILL');
    await eventually(async () =>
      assert.match((await watched.call('/pools/default/tasks')).text, /ECONN|ended|connect/),
    );
  },
  async 'the password of the mail server'(watched) {
    const password = watched.secret('mail server', aSecret('mail'));
    await using smtp = await startMailServer({
      credentials: { user: 'u', password: 'other' },
      echoesCredentials: true,
    });
    const form = { ...alerts, emailPort: `${smtp.port}`, emailPass: password };
    assert.equal((await watched.call('/settings/alerts', { form })).status, 200);
    await watched.call('/settings/alerts', { form: { ...form, sender: 'x' } });
    for (const path of ['/settings/alerts/testEmail', '/settings/alerts/sendTestEmail']) {
      const refused = await watched.call(path, { form });
      assert.match(refused.text, /Invalid login/);
    }
  },
  async 'the passwords of LDAP'(watched) {
    const bindPass = watched.secret('LDAP bind', aSecret('bind'));
    const authPass = watched.secret('LDAP login', aSecret('ldap login'));
    // No server listens there: the answers are errors.
    const form = { hosts: '127.0.0.1', port: '1', bindDN: 'cn=x', bindPass };
    assert.equal((await watched.call('/settings/ldap', { form })).status, 200);
    await watched.call('/settings/ldap', { form: { ...form, port: 'x' } });
    await watched.call('/settings/ldap/validate/connectivity', { form });
    const login = await watched.call('/settings/ldap/validate/authentication', {
      form: { ...form, authUser: 'u', authPass },
    });
    assert.match(login.text, /ECONNREFUSED/);
  },
  async 'credentials that are wrong'(watched) {
    const wrong = watched.secret('wrong password', aSecret('wrong'));
    const asName = watched.secret('password in place of the name', aSecret('name').replaceAll(':', ''));
    for (const as of [`Administrator:${wrong}`, `nobody:${wrong}`, asName, `${asName}:`])
      assert.equal((await watched.call('/settings/alerts', { as, form: alerts })).status, 401);
    await watched.call('/pools', { as: null, headers: { authorization: `Bearer ${wrong}` } });
    await watched.call('/pools', { as: null, headers: { authorization: `Basic ${wrong}` } });
  },
  async 'credentials at the data port'(watched) {
    const wrong = watched.secret('wrong password at the data port', aSecret('data port'));
    const port = portNumber(watched.node.ready.node.kv);
    const connection = await KvConnection.open(port);
    await connection.plain('Administrator', wrong);
    connection.close();
    const asName = watched.secret('password in place of the name at the data port', aSecret('data name'));
    for (const attempt of [
      (client: KvConnection) => client.plain(asName, 'x'),
      (client: KvConnection) => client.scram('SCRAM-SHA256', asName, 'x'),
    ]) {
      const another = await KvConnection.open(port);
      await attempt(another);
      another.close();
    }
  },
  async 'tokens in cookies, headers and addresses'(watched) {
    const token = watched.secret('token', `t0ken-${run}`);
    await watched.call('/pools/default', {
      headers: { cookie: `ui-auth=${token}`, 'ns-server-auth-token': token },
    });
    await watched.call(`/pools/default?password=${token}&token=${token}`);
    await watched.call(`/no/such/path?password=${token}`);
  },
  async 'a private key and its passphrase'(watched) {
    using authority = new OpensslAuthority();
    const pair = authority.issue('/CN=localhost', { names: 'DNS:localhost,IP:127.0.0.1' });
    watched.secret('private key', firstKeyLine(pair.key));
    const passphrase = watched.secret('passphrase', aSecret('passphrase').replaceAll('"', "'"));
    const inbox = join(watched.node.dataDir, 'inbox');
    fillInbox(inbox, {
      'CA/ca.pem': authority.certificate,
      'chain.pem': pair.certificate,
      'pkey.key': encryptedKey(pair.key, passphrase),
    });
    const loaded = await watched.call('/node/controller/loadTrustedCAs', { method: 'POST' });
    assert.equal(loaded.status, 200, loaded.text);
    const reload = (password: string) =>
      watched.call('/node/controller/reloadCertificate', {
        raw: JSON.stringify({ privateKeyPassphrase: { type: 'plain', password } }),
      });
    assert.equal((await reload(`${passphrase}, but wrong`)).status, 400);
    const reloaded = await reload(passphrase);
    assert.equal(reloaded.status, 200, reloaded.text);
  },
  async 'secrets where none belong'(watched) {
    const password = watched.secret('in the wrong form', aSecret('wrong form'));
    const form = { password, emailPass: password, secret: password, token: password };
    const paths = [
      '/settings/stats',
      '/settings/indexes',
      '/settings/autoFailover',
      '/settings/alerts',
      '/pools/default',
    ];
    for (const path of [
      ...paths,
      '/controller/setAutoCompaction',
      '/node/controller/doJoinCluster',
      '/settings/security',
    ])
      await watched.call(path, { form });
    await watched.call('/pools/default/buckets', {
      form: { ...form, name: 'x', ramQuotaMB: '100', saslPassword: password },
    });
    await watched.call('/pools/default/buckets/b/scopes', {
      raw: JSON.stringify({ password }),
      method: 'PUT',
    });
  },
};

/** Makes the node write a support bundle. */
async function collectLogs(watched: WatchedNode): Promise<void> {
  const started = await watched.call('/controller/startLogsCollection', {
    form: { nodes: '*', auditLog: 'true' },
  });
  assert.equal(started.status, 200, started.text);
  await eventually(async () => {
    const { text } = await watched.call('/pools/default/tasks');
    assert.match(text, /"status":"collected"/);
  });
}

test('a node reveals no secret in any encoding', async (t) => {
  await using watched = await WatchedNode.start(aSecret('start'));
  for (const [title, plant] of Object.entries(plantings)) {
    await plant(watched);
    t.diagnostic(`planted ${title}`);
  }
  const { otpNode } = JSON.parse((await watched.call('/nodes/self')).text) as { otpNode: string };
  const named = {
    bucket: 'b',
    domain: 'local',
    user: 'planted',
    group: 'g',
    part: 'data',
    key: 'tlsMinVersion',
  };
  const answered = await watched.readAll({ ...named, node: encodeURIComponent(otpNode), stat: 'ops' });
  assert.ok(answered > 40, `only ${answered} reads had an answer`);
  await collectLogs(watched);
  watched.outputs.set('the settings page', JSON.stringify(settingsCatalog));
  await watched.node.stop();
  t.diagnostic(`${watched.outputs.size} answers, ${watched.node.output.length} characters of log`);
  await eventually(() => assert.match(watched.node.output, /"msg":"request"/));
  // The operator's inbox keeps its files, and the node's key is stored with its certificate.
  assert.deepEqual(watched.found(/\/inbox\/|\/certificates\//), []);
});

test('the search finds a secret in an answer, in the log and in a file', async () => {
  const value = `not-s3cret-${run}`;
  await using watched = await WatchedNode.start(aSecret('control'));
  await watched.call('/pools/default', { form: { clusterName: value } });
  await watched.call('/pools/default');
  await watched.call(`/no/${value}`);
  await collectLogs(watched);
  await watched.node.stop();
  watched.secret('control', value);
  const found = watched.found(/\/certificates\//).join('\n');
  for (const output of ['GET /pools/default ', 'the log', 'config.db', 'events.1.jsonl', '.zip'])
    assert.ok(found.includes(`control as text in`) && found.includes(output), `${output}: ${found}`);
});
