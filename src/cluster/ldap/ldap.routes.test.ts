import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { aDirectory, onLdap as on, externalUsers as users } from '../../../test/support/ldap-directory.ts';
import { aManager } from '../../../test/support/manager.ts';
import { checkSettings, managerTarget, refusals } from '../../../test/support/settings-suite.ts';

describe('external users', () => {
  it('are stored, listed, read and deleted beside local ones', async () => {
    const { request, put } = await aDirectory();
    assert.equal((await put('jane', 'ro_admin')).status, 200);
    await put('kim', 'ro_admin', 'local');
    const { uuid, ...jane } = (await request(`${users}/external/jane`)).body;
    assert.match(uuid, /^[0-9a-f-]{36}$/);
    const roles = [{ role: 'ro_admin', origins: [{ type: 'user' }] }];
    assert.deepEqual(jane, { id: 'jane', domain: 'external', roles, groups: [], external_groups: [] });
    const listed = async (path: string) =>
      (await request(path)).body.map(({ id, domain }: Record<string, string>) => `${domain} ${id}`);
    assert.deepEqual(await listed(users), ['local kim', 'external jane']);
    assert.deepEqual(await listed(`${users}/external`), ['external jane']);
    const password = { method: 'PUT', form: { roles: '', password: 'secret' } } as const;
    assert.deepEqual((await request(`${users}/external/x`, password)).body.errors, {
      password: 'Unsupported key',
    });
    assert.equal((await request(`${users}/external/jane`, { method: 'DELETE' })).status, 200);
    assert.equal((await request(`${users}/external/jane`)).status, 404);
    assert.equal((await request(`${users}/external/jane`, { method: 'DELETE' })).status, 404);
  });

  it('log in by the answer of the LDAP server, which is cached for a while', async () => {
    const { request, put, whoami, directory, clock } = await aDirectory();
    await put('jane', 'ro_admin');
    assert.deepEqual(await whoami('jane:jane-secret'), [401]);
    assert.deepEqual(directory.queried, []);
    await request('/settings/ldap', { form: on });
    assert.deepEqual(await whoami('jane:jane-secret'), [200, 'jane', 'external']);
    assert.deepEqual(await whoami('jane:jane-secret'), [200, 'jane', 'external']);
    assert.equal(directory.queried.length, 1);
    clock.advance(300_000);
    await whoami('jane:jane-secret');
    assert.equal(directory.queried.length, 2);
    await request('/settings/ldap', { form: { port: '390' } });
    await whoami('jane:jane-secret');
    assert.equal(directory.queried.length, 3);
    assert.equal((await request('/pools/default', { as: 'jane:jane-secret' })).status, 200);
    await request(`${users}/external/jane`, { method: 'DELETE' });
    assert.deepEqual(await whoami('jane:jane-secret'), [401]);
  });

  it('never log in without a password, nor as a local user of the same name', async () => {
    const { request, put, whoami, directory } = await aDirectory();
    await request('/settings/ldap', { form: on });
    await put('jane', 'admin');
    await put('jane', 'ro_admin', 'local');
    assert.deepEqual(await whoami('jane:jane-secret'), [401]);
    assert.deepEqual(await whoami('jane:local-secret'), [200, 'jane', 'local']);
    await request(`${users}/local/jane`, { method: 'DELETE' });
    assert.deepEqual(await whoami('jane:'), [401]);
    assert.deepEqual(directory.queried, []);
  });

  it('are managed by administrators of external users', async () => {
    const { request, put } = await aDirectory();
    for (const domain of ['local', 'external']) await put(domain, `security_admin_${domain}`, 'local');
    const status = async (administratorOf: string, domain: string) => {
      const form = { roles: '', ...(domain === 'local' && { password: 'local-secret' }) };
      return (
        await request(`${users}/${domain}/new`, {
          method: 'PUT',
          form,
          as: `${administratorOf}:local-secret`,
        })
      ).status;
    };
    assert.deepEqual([await status('local', 'local'), await status('local', 'external')], [200, 403]);
    assert.deepEqual([await status('external', 'local'), await status('external', 'external')], [403, 200]);
  });
});

describe('the client certificate for the LDAP server', () => {
  const external = { bindMethod: 'SASL_EXTERNAL', encryption: 'TLS' };

  it('is stored with its key, which is never shown', async () => {
    const { request } = await aDirectory();
    const { certificate, key } = await makeCertificate();
    const pair = { clientTLSCert: certificate, clientTLSKey: key };
    const { status, body } = await request('/settings/ldap', { form: { ...external, ...pair } });
    assert.equal(status, 200);
    assert.deepEqual([body.clientTLSCert, body.clientTLSKey], [certificate, '**********']);
    const { body: read } = await request('/settings/ldap');
    assert.deepEqual([read.bindMethod, read.clientTLSKey], ['SASL_EXTERNAL', '**********']);
    const cleared = { bindMethod: 'Simple', clientTLSCert: '', clientTLSKey: '' };
    assert.equal((await request('/settings/ldap', { form: cleared })).body.clientTLSKey, undefined);
  });

  it('is refused with the field at fault, and nothing is changed', async () => {
    const { request } = await aDirectory();
    const [first, second] = [await makeCertificate(), await makeCertificate()];
    const before = (await request('/settings/ldap')).body;
    const refused: [Record<string, string>, Record<string, string>][] = [
      [
        { bindMethod: 'None' },
        { bindMethod: 'The value must be one of the following: [Simple,SASL_EXTERNAL]' },
      ],
      [external, { bindMethod: 'SASL_EXTERNAL needs clientTLSCert and clientTLSKey' }],
      [{ clientTLSCert: first.certificate }, { clientTLSKey: 'must be given with clientTLSCert' }],
      [{ clientTLSKey: first.key }, { clientTLSCert: 'must be given with clientTLSKey' }],
      [{ clientTLSCert: 'x', clientTLSKey: first.key }, { clientTLSCert: 'must be a certificate in PEM' }],
      [
        { clientTLSCert: first.certificate, clientTLSKey: 'x' },
        { clientTLSKey: 'must be a private key in PEM without a passphrase' },
      ],
      [
        { clientTLSCert: first.certificate, clientTLSKey: second.key },
        { clientTLSKey: 'must be the key of clientTLSCert' },
      ],
      [
        { bindMethod: 'SASL_EXTERNAL', clientTLSCert: first.certificate, clientTLSKey: first.key },
        { encryption: 'must be StartTLSExtension or TLS with SASL_EXTERNAL' },
      ],
    ];
    for (const [form, errors] of refused)
      for (const path of ['/settings/ldap', '/settings/ldap?just_validate=1']) {
        const { status, body } = await request(path, { form });
        assert.deepEqual([status, body.errors], [400, errors]);
      }
    assert.deepEqual((await request('/settings/ldap')).body, before);
  });
});

describe('requests on behalf of another user', () => {
  const header = (text: string) => ({ 'cb-on-behalf-of': Buffer.from(text).toString('base64') });

  it('have the rights of that user, when a full administrator sends them', async () => {
    const { request, put } = await aDirectory();
    await put('jane', 'ro_admin');
    await put('kim', 'cluster_admin', 'local');
    const ask = (path: string, text: string, as = 'Administrator:password') =>
      request(path, { as, headers: header(text) });
    for (const [name, domain] of [
      ['jane', 'external'],
      ['kim', 'local'],
    ] as const) {
      const { body } = await ask('/whoami', `${name}:${domain}`);
      assert.deepEqual([body.id, body.domain], [name, domain]);
    }
    assert.equal((await ask('/internalSettings', 'jane:external')).status, 403);
    assert.equal((await ask('/internalSettings', 'kim:local')).status, 200);
    assert.equal((await ask('/whoami', 'kim:external')).status, 401);
    assert.equal((await ask('/whoami', 'nobody:local')).status, 401);
    assert.equal((await ask('/whoami', 'kim')).status, 401);
    const refused = await ask('/whoami', 'Administrator:admin', 'kim:local-secret');
    assert.deepEqual(
      [refused.status, refused.body.permissions],
      [403, ['cluster.admin.security.admin!impersonate']],
    );
    assert.equal((await request('/pools', { as: null, headers: header('kim:local') })).status, 401);
  });

  it('name both users in the audit trail', async () => {
    const { request, put } = await aDirectory();
    await put('kim', 'cluster_admin', 'local');
    const form = { sendStats: 'true' };
    assert.equal((await request('/settings/stats', { form, headers: header('kim:local') })).status, 200);
    const { extra_attributes } = (await request('/events')).body.events.at(-1);
    assert.deepEqual([extra_attributes.user, extra_attributes.real_user], ['kim', 'Administrator']);
  });
});

describe('the LDAP settings', () => {
  it('keep every parameter over restarts, and name each wrong one when they refuse it', async (t) => {
    await using target = await managerTarget();
    const notBoolean = 'The value must be one of the following: [true,false]';
    const flag = (name: string) => ({
      name,
      good: [
        ['true', true],
        ['false', false],
      ] as const,
      bad: [
        ['', notBoolean],
        ['1', notBoolean],
      ] as const,
      missing: { reads: false },
    });
    const integerParameter = (name: string, min: number, max: number) => {
      const range = `The value must be in range from ${min} to ${max}`;
      return {
        name,
        good: [
          [`${min}`, min],
          [`${max}`, max],
        ] as const,
        missing: { reads: max },
        bad: [
          [`${min - 1}`, range],
          [`${max + 1}`, range],
          ['x', 'The value must be an integer'],
        ] as const,
      };
    };
    const hosts = 'must be up to 16 names or addresses separated by commas';
    await checkSettings(t, target, {
      write: '/settings/ldap',
      read: '/settings/ldap',
      base: {},
      refusal: refusals.fields,
      parameters: [
        flag('authenticationEnabled'),
        flag('serverCertValidation'),
        flag('authorizationEnabled'),
        flag('nestedGroupsEnabled'),
        flag('failOnMaxDepth'),
        integerParameter('nestedGroupsMaxDepth', 1, 100),
        integerParameter('port', 0, 65_535),
        integerParameter('requestTimeout', 1, 60_000),
        integerParameter('maxParallelConnections', 1, 1_000),
        integerParameter('maxCacheSize', 0, 10_000),
        integerParameter('cacheValueLifetime', 0, 2 ** 31 - 1),
        {
          name: 'hosts',
          good: [
            ['a, b', ['a', 'b']],
            ['::1', ['::1']],
          ],
          bad: [
            ['a b', hosts],
            [Array.from({ length: 17 }, () => 'h').join(), hosts],
          ],
          missing: { reads: ['::1'] },
        },
        {
          name: 'encryption',
          good: [
            ['TLS', 'TLS'],
            ['None', 'None'],
          ],
          bad: [['tls', 'The value must be one of the following: [None,StartTLSExtension,TLS]']],
          missing: { reads: 'None' },
        },
        {
          name: 'userDNMapping',
          good: [
            ['{"template":"uid=%u"}', { template: 'uid=%u' }],
            ['{"query":"dc=x??sub?(uid=%u)"}', { query: 'dc=x??sub?(uid=%u)' }],
          ],
          bad: [
            ['{', 'Invalid JSON'],
            ['{}', 'JSON object must contain either query or template'],
            ['{"template":"uid=x"}', 'Template or query should contain at least one %u'],
          ],
          missing: { reads: { query: 'dc=x??sub?(uid=%u)' } },
        },
        {
          name: 'bindPass',
          good: [
            ['', ''],
            ['secret', '**********'],
          ],
          bad: [],
          missing: { reads: '**********' },
        },
        {
          name: 'groupsQuery',
          good: [
            ['dc=x??sub?(member=%D)', 'dc=x??sub?(member=%D)'],
            ['dc=x?memberOf?base', 'dc=x?memberOf?base'],
          ],
          bad: [['dc=x?a,b?one', 'Only one attribute can be specified']],
          missing: { reads: 'dc=x?memberOf?base' },
        },
      ],
    });
  });

  it('can be tested without being stored, and hide the password everywhere', async () => {
    const { request, store, directory } = await aDirectory();
    await request('/settings/ldap', { form: { ...on, bindPass: 'pl4nted-secret' } });
    assert.doesNotMatch(JSON.stringify(await store.list('')), /pl4nted/);
    assert.doesNotMatch(JSON.stringify((await request('/events')).body), /pl4nted/);
    const validate = async (what: string, form: Record<string, string>) =>
      (await request(`/settings/ldap/validate/${what}`, { form })).body;
    assert.deepEqual(await validate('connectivity', { hosts: '' }), {
      result: 'error',
      reason: 'no LDAP host is set',
    });
    assert.deepEqual(await validate('connectivity', { port: '1' }), { result: 'success' });
    const login = { authUser: 'jane', authPass: 'jane-secret', port: '7' };
    assert.deepEqual(await validate('authentication', login), { result: 'success', dn: 'jane' });
    assert.deepEqual([directory.settings?.port, directory.settings?.bindPass], [7, 'pl4nted-secret']);
    assert.deepEqual(await validate('authentication', { ...login, authPass: 'x' }), {
      result: 'error',
      reason: 'wrong',
    });
    assert.equal((await request('/settings/ldap')).body.port, 389);
  });

  it('need the enterprise edition', async () => {
    const { request } = await aManager({ edition: 'community' });
    assert.equal((await request('/settings/ldap')).status, 400);
    assert.equal((await request(`${users}/external/x`, { method: 'PUT', form: { roles: '' } })).status, 400);
  });
});
