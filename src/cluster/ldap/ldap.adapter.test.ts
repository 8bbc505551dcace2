import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, it, test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { LdapServerProcess } from '../../../test/support/ldap-server.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { needs } from '../../../test/support/needs.ts';
import { callRequestsMax, LdapServer } from './ldap.adapter.ts';
import { defaultLdapSettings, type LdapSettings } from './ldap-settings.ts';

const users = [
  { name: 'jane', password: 'jane-secret' },
  { name: 'joan', password: 'joan-secret' },
];

const groups = { writers: ['jane', 'joan'], readers: ['jane'], all: ['writers', 'all'], top: ['all'] };

test('a login fails in time if the server is silent after it accepted StartTLS, and the next host is tried', async () => {
  const clock = new ManualClock();
  const requestTimeout = 60_000;
  let connections = 0;
  const silent = createServer((socket) => {
    connections++;
    socket.on('error', () => {});
    socket.once('data', (request) => {
      // The answer to an extended request with this message id: success. Nothing follows.
      socket.write(Buffer.from([0x30, 12, 2, 1, request[4] as number, 0x78, 7, 10, 1, 0, 4, 0, 4, 0]));
      // The client begins the handshake.
      socket.once('data', () => clock.advance(requestTimeout));
    });
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const ldap = new LdapServer({ trusted: async () => [], clock });
  const hosts = ['127.0.0.1', '127.0.0.1'];
  const encryption = 'StartTLSExtension';
  const settings = { ...defaultLdapSettings, hosts, port, encryption, requestTimeout } as const;
  const outcome = await ldap.login({ ...settings, userDNMapping: { template: 'uid=%u' } }, 'jane', 'secret');
  silent.close();
  assert.ok(outcome.kind === 'failed' && /no TLS handshake within 60000 ms/.test(outcome.reason));
  assert.equal(connections, 2);
});

test('a call ends after ten times the request timeout, and closes its connection', async () => {
  const clock = new ManualClock();
  const requested = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('close', () => closed.resolve());
    socket.once('data', () => requested.resolve());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const settings = { ...defaultLdapSettings, hosts: ['127.0.0.1'], port, requestTimeout: 60_000 };
  const ldap = new LdapServer({ trusted: async () => [], clock });
  const outcome = ldap.login({ ...settings, userDNMapping: { template: 'uid=%u' } }, 'jane', 'secret');
  await requested.promise;
  clock.advance(callRequestsMax * settings.requestTimeout);
  assert.deepEqual(await outcome, {
    kind: 'failed',
    reason: `127.0.0.1:${port}: no result within 600000 ms`,
  });
  await closed.promise;
  server.close();
});

describe('logins at a real LDAP server', { skip: needs('slapd') }, () => {
  let server: LdapServerProcess;
  before(async () => {
    server = await LdapServerProcess.start(users, groups);
  });
  after(() => server[Symbol.asyncDispose]());

  const ldap = new LdapServer({ trusted: async () => [], clock: realClock });
  const settings = (changes: Partial<LdapSettings> = {}): LdapSettings => ({
    ...defaultLdapSettings,
    authenticationEnabled: true,
    hosts: ['127.0.0.1'],
    port: server.port,
    userDNMapping: { template: server.template },
    ...changes,
  });
  const kindOf = async (changes: Partial<LdapSettings>, name = 'jane', password = 'jane-secret') =>
    (await ldap.login(settings(changes), name, password)).kind;

  it('succeed with the right password only, by a template', async () => {
    assert.deepEqual(await ldap.login(settings(), 'jane', 'jane-secret'), {
      kind: 'accepted',
      dn: 'uid=jane,dc=test',
    });
    assert.equal(await kindOf({}, 'jane', 'joan-secret'), 'refused');
    assert.equal(await kindOf({}, 'nobody', 'jane-secret'), 'refused');
  });

  it('escape special characters in a name', async () => {
    const open = { userDNMapping: { template: 'uid=%u' } };
    assert.equal(await kindOf(open, 'jane,dc=test', 'jane-secret'), 'refused');
    const bindsAs = { bindDN: server.administrator.dn, bindPass: server.administrator.password };
    const query = { ...bindsAs, userDNMapping: { query: 'dc=test??one?(uid=%u)' } };
    assert.equal(await kindOf(query), 'accepted');
    assert.equal(await kindOf(query, '*'), 'refused');
    assert.equal(await kindOf(query, 'jane)(uid=jane'), 'refused');
    const both = { ...query, userDNMapping: { query: 'dc=test??one?(|(uid=%u)(uid=joan))' } };
    assert.equal(await kindOf(both), 'refused');
  });

  it('find the groups of the user: entries, values of an attribute, or nested groups', async () => {
    const bindsAs = { bindDN: server.administrator.dn, bindPass: server.administrator.password };
    const found = async (changes: Partial<LdapSettings>, name = 'jane') => {
      const outcome = await ldap.groups(settings({ ...bindsAs, ...changes }), name);
      return outcome.kind === 'found' ? [...outcome.groups].sort() : outcome.reason;
    };
    const dn = (...names: string[]) => names.map((name) => `cn=${name},dc=test`);
    assert.deepEqual(await found({}), []);
    const groupsQuery = 'dc=test??one?(member=%D)';
    assert.deepEqual(await found({ groupsQuery }), dn('readers', 'writers'));
    assert.deepEqual(await found({ groupsQuery }, 'joan'), dn('writers'));
    assert.deepEqual(
      await found({ groupsQuery: 'dc=test??one?(member=uid=%u,dc=test)' }),
      dn('readers', 'writers'),
    );
    assert.deepEqual(await found({ groupsQuery: 'dc=test??one?(member=uid=%u,dc=test)' }, '*'), []);
    assert.deepEqual(await found({ groupsQuery: 'cn=all,dc=test?MEMBER?base' }), dn('all', 'writers'));
    const nested = { groupsQuery, nestedGroupsEnabled: true };
    assert.deepEqual(await found(nested), dn('all', 'readers', 'top', 'writers'));
    assert.deepEqual(await found({ ...nested, nestedGroupsMaxDepth: 1 }), dn('all', 'readers', 'writers'));
    const failing = { ...nested, nestedGroupsMaxDepth: 1, failOnMaxDepth: true };
    assert.match(String(await found(failing)), /max depth/);
    assert.match(String(await found({ ...nested, groupsQuery: 'dc=test??one?(uid=%u)' })), /not allowed/);
  });

  it('are encrypted on request, with a trusted certificate', async () => {
    const trusts = { hosts: ['localhost'], cacert: server.certificate };
    assert.equal(await kindOf({ ...trusts, encryption: 'TLS', port: server.tlsPort }), 'accepted');
    assert.equal(await kindOf({ ...trusts, encryption: 'StartTLSExtension' }), 'accepted');
    for (const encryption of ['TLS', 'StartTLSExtension'] as const) {
      const port = encryption === 'TLS' ? server.tlsPort : server.port;
      assert.equal(await kindOf({ hosts: ['localhost'], encryption, port }), 'failed');
      assert.equal(
        await kindOf({ hosts: ['localhost'], encryption, port, serverCertValidation: false }),
        'accepted',
      );
    }
  });

  it('look names up as the owner of a client certificate', async () => {
    const { certificate: clientTLSCert, key: clientTLSKey } = server;
    const query = { userDNMapping: { query: 'dc=test??one?(uid=%u)' } };
    const owner = { ...query, hosts: ['localhost'], cacert: server.certificate, clientTLSCert, clientTLSKey };
    for (const encryption of ['TLS', 'StartTLSExtension'] as const) {
      const port = encryption === 'TLS' ? server.tlsPort : server.port;
      const external = { ...owner, encryption, port, bindMethod: 'SASL_EXTERNAL' } as const;
      assert.equal(await kindOf(external), 'accepted');
      assert.equal(await kindOf(external, 'jane', 'joan-secret'), 'refused');
      // Without the certificate, or without its use, the server shows no entries.
      assert.notEqual(await kindOf({ ...external, clientTLSCert: '', clientTLSKey: '' }), 'accepted');
      assert.notEqual(await kindOf({ ...external, bindMethod: 'Simple' }), 'accepted');
    }
  });

  it('try the next host if one does not answer, and fail with a reason if none does', async () => {
    const hosts = ['localhost.invalid', '127.0.0.1'];
    assert.equal(await kindOf({ hosts }), 'accepted');
    const failed = await ldap.login(settings({ hosts: ['127.0.0.1'], port: 1 }), 'jane', 'jane-secret');
    assert.ok(failed.kind === 'failed' && /127\.0\.0\.1:1: /.test(failed.reason), JSON.stringify(failed));
    assert.equal(await ldap.reach(settings()), null);
    assert.match((await ldap.reach(settings({ bindDN: 'cn=x', bindPass: 'x' }))) ?? '', /./);
  });
});
