import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { securityRoleCount, usersBySecurityRole } from '../../../test/support/security-roles.ts';
import {
  checkSettings,
  managerTarget,
  type Parameter,
  refusals,
} from '../../../test/support/settings-suite.ts';
import { services } from './security-state.ts';

const path = '/settings/security';
const notBoolean = "Accepted values are 'true' and 'false'.";
const gcm128 = 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256';
const gcm256 = 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384';

/** `data.tlsMinVersion` stands under `data`. */
const at = (name: string) => (answer: never) =>
  name.split('.').reduce((value, step) => (value as Record<string, unknown>)[step], answer as unknown);

const flag = (name: string, reads: boolean): Parameter => ({
  name,
  good: [
    [String(reads), reads],
    [String(!reads), !reads],
  ],
  bad: ['1', 'True', 'yes', ''].map((sent) => [sent, notBoolean] as const),
  missing: { reads: !reads },
  find: at(name),
});

function version(name: string): Parameter {
  const hasNewest = name.includes('.') && !name.startsWith('clusterManager');
  const list = ['tlsv1', 'tlsv1.1', 'tlsv1.2', ...(hasNewest ? ['tlsv1.3'] : [])];
  const text = `Supported TLS versions are ${list.toReversed().join(', ')}`;
  const wrong = ['tlsv1.0', 'tlsv1.4', 'TLSv1.2', 'sslv3', '1.2', '', ...(hasNewest ? [] : ['tlsv1.3'])];
  const valid = list.toReversed().map((value) => [value, value] as const);
  return {
    name,
    good: [...valid, ['tlsv1.2', 'tlsv1.2']],
    bad: wrong.map((sent) => [sent, text] as const),
    missing: { reads: 'tlsv1.2' },
    find: at(name),
  };
}

const format = 'Invalid format. Expecting a list of ciphers.';
const ciphers = (name: string): Parameter => ({
  name,
  good: [
    [JSON.stringify([gcm256, gcm128]), [gcm256, gcm128]],
    ['["ECDHE-ECDSA-AES128-GCM-SHA256"]', [gcm128]],
    [JSON.stringify([gcm128, 'ECDHE-ECDSA-AES128-GCM-SHA256']), [gcm128]],
    ['[]', []],
  ],
  bad: [
    ['', format],
    [gcm128, format],
    ['{}', format],
    ['[1]', format],
    ['"x"', format],
    ['["x"]', 'Invalid cipher suite names x'],
    [JSON.stringify([gcm128, 'x', 'PSK-AES128-CBC-SHA']), 'Invalid cipher suite names x, PSK-AES128-CBC-SHA'],
  ],
  missing: { reads: [] },
  find: at(name),
});

const header = 'max-age directive is required';
const parameters: Parameter[] = [
  flag('disableWWWAuthenticate', true),
  flag('disableUIOverHttp', true),
  flag('disableUIOverHttps', true),
  version('tlsMinVersion'),
  ciphers('cipherSuites'),
  flag('honorCipherOrder', false),
  {
    name: 'responseHeaders',
    good: [
      [
        '{"Strict-Transport-Security":"max-age=31536000;includeSubDomains;preload"}',
        { 'Strict-Transport-Security': 'max-age=31536000;includeSubDomains;preload' },
      ],
      ['{}', []],
    ],
    bad: [
      ['', 'Invalid format. Expecting a json.'],
      ['[]', 'Invalid format. Expecting a json.'],
      ['{"X-Other":"1"}', 'Only "Strict-Transport-Security" header allowed'],
      ['{"Strict-Transport-Security":"preload"}', header],
      ['{"Strict-Transport-Security":1}', header],
      ['{"Strict-Transport-Security":"max-age=1\\r\\nX: y"}', header],
    ],
    missing: { reads: [] },
  },
  ...services.flatMap((service) => [
    version(`${service}.tlsMinVersion`),
    ciphers(`${service}.cipherSuites`),
    flag(`${service}.honorCipherOrder`, false),
  ]),
];

describe('security settings', () => {
  it('accept, store and refuse the specified values, for all services and for each', async (t) => {
    await using target = await managerTarget();
    await checkSettings(t, target, { write: path, read: path, refusal: refusals.list, parameters });
  });

  it('show the published defaults, and effective and possible values of each service', async () => {
    const { request } = await aManager();
    const { body, status } = await request(path);
    assert.equal(status, 200);
    const { data, ...rest } = body;
    const common = { tlsMinVersion: 'tlsv1.2', cipherSuites: [], honorCipherOrder: true };
    const expected = { ...common, supportedCipherSuites: data.supportedCipherSuites };
    assert.ok(data.supportedCipherSuites.includes(gcm128));
    assert.deepEqual(data, expected);
    for (const service of services.slice(1)) assert.deepEqual(rest[service], expected, service);
    const { disableUIOverHttp, disableUIOverHttps, disableWWWAuthenticate, responseHeaders } = rest;
    const booleans = [disableUIOverHttp, disableUIOverHttps, disableWWWAuthenticate];
    assert.deepEqual([...booleans, responseHeaders], [false, false, false, []]);
    assert.equal(rest.allowNonLocalCACertUpload, false);
    assert.ok(!('clusterEncryptionLevel' in rest), 'nothing between nodes is encrypted');
  });

  it('let a service follow the choice for all until it has its own, and again when that is reset', async () => {
    const { request } = await aManager();
    const data = async () => {
      const { tlsMinVersion, honorCipherOrder } = (await request(`${path}/data`)).body;
      return [tlsMinVersion, honorCipherOrder];
    };
    await request(path, { form: { tlsMinVersion: 'tlsv1.1', honorCipherOrder: 'false' } });
    assert.deepEqual(await data(), ['tlsv1.1', false]);
    await request(`${path}/data`, { form: { tlsMinVersion: 'tlsv1.3' } });
    assert.deepEqual(await data(), ['tlsv1.3', false]);
    await request(path, { form: { honorCipherOrder: 'true' } });
    assert.deepEqual(await data(), ['tlsv1.3', true]);
    assert.equal((await request(`${path}/query/tlsMinVersion`)).body, 'tlsv1.1');
    const reset = await request(`${path}/data/tlsMinVersion`, { method: 'DELETE' });
    assert.deepEqual([reset.status, reset.body], [200, []]);
    assert.deepEqual(await data(), ['tlsv1.1', true]);
    await request(`${path}/data`, { form: { tlsMinVersion: 'tlsv1.3', honorCipherOrder: 'false' } });
    assert.equal((await request(`${path}/data`, { method: 'DELETE' })).status, 200);
    assert.deepEqual(await data(), ['tlsv1.1', true]);
    assert.equal((await request(`${path}/tlsMinVersion`, { method: 'DELETE' })).status, 200);
    assert.deepEqual(await data(), ['tlsv1.2', true]);
  });

  it('are changed by forms of dotted names, by forms of one service, and by bare values', async () => {
    const { request, server } = await aManager();
    const authorization = `Basic ${Buffer.from('Administrator:password').toString('base64')}`;
    const post = async (url: string, payload: string) => {
      const sent = { method: 'POST' as const, url, payload, headers: { authorization } };
      const { statusCode, payload: text } = await server.inject(sent);
      return [statusCode, JSON.parse(text)];
    };
    assert.deepEqual(await post(path, 'data.tlsMinVersion=tlsv1.3&query.honorCipherOrder=false'), [200, []]);
    assert.deepEqual(await post(`${path}/index`, 'tlsMinVersion=tlsv1&honorCipherOrder=false'), [200, []]);
    assert.deepEqual(await post(`${path}/backup/tlsMinVersion`, 'tlsv1.1'), [200, []]);
    assert.deepEqual(await post(`${path}/disableUIOverHttp`, 'true'), [200, []]);
    const { body } = await request(path);
    assert.deepEqual(
      [
        body.data.tlsMinVersion,
        body.query.honorCipherOrder,
        body.index.tlsMinVersion,
        body.backup.tlsMinVersion,
      ],
      ['tlsv1.3', false, 'tlsv1', 'tlsv1.1'],
    );
    assert.equal(body.index.honorCipherOrder, false);
    assert.equal((await request(`${path}/disableUIOverHttp`)).body, true);
    assert.deepEqual(await post(`${path}/backup/tlsMinVersion`, 'x'), [
      400,
      { errors: ['backup.tlsMinVersion - Supported TLS versions are tlsv1.3, tlsv1.2, tlsv1.1, tlsv1'] },
    ]);
    assert.deepEqual(await post(path, ''), [200, []]);
  });

  it('change all that was sent or nothing, and name everything that is wrong', async () => {
    const { request } = await aManager();
    const form = {
      disableUIOverHttp: 'true',
      tlsMinVersion: 'tlsv1.3',
      'data.honorCipherOrder': '1',
      'data.supportedCipherSuites': '[]',
      'query.disableUIOverHttp': 'true',
      'a.b.c': '1',
      strange: '1',
    };
    const { status, body } = await request(path, { form });
    assert.equal(status, 400);
    assert.deepEqual(body.errors.toSorted(), [
      'Unknown key a.b.c',
      'Unknown key query.disableUIOverHttp',
      'Unknown key strange',
      "data.honorCipherOrder - Accepted values are 'true' and 'false'.",
      'data.supportedCipherSuites - Property is readonly',
      'tlsMinVersion - Supported TLS versions are tlsv1.2, tlsv1.1, tlsv1',
    ]);
    assert.equal((await request(path)).body.disableUIOverHttp, false);
  });

  it('refuse cipher suites that no allowed TLS version has, whichever of the two settings changes', async () => {
    const { request } = await aManager();
    const list = JSON.stringify([gcm128]);
    const text =
      'data.cipherSuites - None of the cipher suites is one of tlsv1.3, the lowest version allowed';
    const both = await request(`${path}/data`, { form: { tlsMinVersion: 'tlsv1.3', cipherSuites: list } });
    assert.deepEqual([both.status, both.body], [400, { errors: [text] }]);
    assert.equal((await request(`${path}/data`, { form: { tlsMinVersion: 'tlsv1.3' } })).status, 200);
    assert.deepEqual((await request(path, { form: { cipherSuites: list } })).body, { errors: [text] });
    const mixed = JSON.stringify([gcm128, 'TLS_AES_128_GCM_SHA256']);
    assert.equal((await request(path, { form: { cipherSuites: mixed } })).status, 200);
  });

  it('answer 404 to unknown names, and refuse to reset everything at once', async () => {
    const { request } = await aManager();
    const answer = async (url: string, method: 'GET' | 'POST' | 'DELETE', form?: Record<string, string>) => {
      const { status, body } = await request(url, { method, ...(form && { form }) });
      return [status, body];
    };
    assert.deepEqual(await answer(`${path}/strange`, 'GET'), [404, 'Not found']);
    assert.deepEqual(await answer(`${path}/data/strange`, 'GET'), [404, 'Not found']);
    assert.deepEqual(await answer(`${path}/clusterEncryptionLevel`, 'GET'), [404, 'Not found']);
    assert.deepEqual(await answer(`${path}/strange`, 'POST', { a: 'b' }), [404, 'Not found']);
    assert.deepEqual(await answer(`${path}/strange`, 'DELETE'), [404, { errors: ['Unknown key strange'] }]);
    assert.deepEqual(await answer(`${path}/data/strange`, 'DELETE'), [
      404,
      { errors: ['Unknown key data.strange'] },
    ]);
    assert.deepEqual(await answer(path, 'DELETE'), [400, { errors: ['Not supported'] }]);
    const readOnly = { errors: ['data.supportedCipherSuites - Property is readonly'] };
    assert.deepEqual(await answer(`${path}/data/supportedCipherSuites`, 'DELETE'), [400, readOnly]);
    assert.deepEqual(await answer(`${path}/data/supportedCipherSuites`, 'POST', { x: 'y' }), [400, readOnly]);
  });

  it('refuse a level of encryption while nothing between nodes is encrypted', async () => {
    const { request } = await aManager();
    const { status, body } = await request(path, { form: { clusterEncryptionLevel: 'strict' } });
    const reason = "Can't set cluster encryption level when cluster encryption is disabled.";
    assert.deepEqual([status, body], [400, { errors: [`clusterEncryptionLevel - ${reason}`] }]);
  });

  it('decide whether a 401 has a challenge, and which headers every answer has', async () => {
    const { request } = await aManager();
    assert.ok((await request('/pools', { as: null })).headers['www-authenticate']);
    const headers = '{"Strict-Transport-Security":"max-age=1"}';
    await request(path, { form: { disableWWWAuthenticate: 'true', responseHeaders: headers } });
    const after = await request('/pools', { as: null });
    assert.deepEqual([after.status, after.headers['www-authenticate']], [401, undefined]);
    assert.equal(after.headers['strict-transport-security'], 'max-age=1');
  });

  it('are read by readers of security and changed by its administrators', async (t) => {
    const { request } = await aManager();
    t.plan(securityRoleCount * 3);
    for await (const { as, roles, readStatus, writeStatus } of usersBySecurityRole(request)) {
      t.assert.equal((await request(path, { as })).status, readStatus, `${roles} reads`);
      const form = { disableUIOverHttp: 'false' };
      t.assert.equal((await request(path, { as, form })).status, writeStatus, `${roles} sets`);
      const reset = await request(`${path}/data`, { as, method: 'DELETE' });
      t.assert.equal(reset.status, writeStatus, `${roles} resets`);
    }
  });

  it('refuse TLS settings in the community edition', async () => {
    const { request } = await aManager({ edition: 'community' });
    const { body } = await request(path, {
      form: { tlsMinVersion: 'tlsv1.1', 'data.honorCipherOrder': 'true' },
    });
    assert.deepEqual(body.errors, [
      'tlsMinVersion - not supported in community edition',
      'data.honorCipherOrder - not supported in community edition',
    ]);
    assert.equal((await request(path, { form: { disableUIOverHttp: 'true' } })).status, 200);
  });
});
