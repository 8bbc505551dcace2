// Every parameter of the calls that set a node and its cluster up: limits of its range, values beyond them, wrong types and
// omission, over restarts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import {
  checkSettings,
  managerTarget,
  type Parameter,
  refusals,
  type SettingsTarget,
} from '../../../test/support/settings-suite.ts';

const notInteger = 'The value must be an integer';
const supplied = 'The value must be supplied';
const each = (sent: readonly string[], text: string) => sent.map((value) => [value, text] as const);
const notBoolean = 'The value must be one of the following: [true,false]';

test('name and memory of the cluster change within their ranges, and are kept', async (t) => {
  await using target = await managerTarget();
  const untouched = { clusterName: 'a' };
  const tooLow = (service: string, sent: string, min: number, why = '') =>
    `The ${service} service quota (${sent}MB) cannot be less than ${min}MB${why}.`;
  const quota = (name: string, service: string, min: number): Parameter => ({
    name,
    good: [
      ['4294967296', 4_294_967_296],
      [`${min}`, min],
    ],
    bad: [
      ...[`${min - 1}`, '0', '-1'].map((sent) => [sent, tooLow(service, sent, min)] as const),
      ['4294967297', 'The value must be in range from -Infinity to 4294967296'],
      ...each(['', 'x', '256.5'], notInteger),
    ],
    missing: { reads: min },
    with: untouched,
  });
  const why = ' (current total buckets quota, or at least 256MB)';
  await checkSettings(t, target, {
    write: '/pools/default',
    read: '/pools/default',
    refusal: refusals.fields,
    parameters: [
      {
        name: 'clusterName',
        good: [
          ['', ''],
          ['Ünder <the> "sea"', 'Ünder <the> "sea"'],
        ],
        missing: { key: '_', text: 'Request should have parameters' },
      },
      {
        name: 'memoryQuota',
        good: [
          ['7168', 7168],
          ['256', 256],
        ],
        bad: [
          ['255', tooLow('data', '255', 256, why)],
          [
            '7169',
            "Total quota (7169MB) exceeds the maximum allowed quota (7168MB) on node 'ns_1@cb.local'",
            '_',
          ],
          ...each(['', 'x', '256.5'], notInteger),
        ],
        missing: { reads: 256 },
        with: untouched,
      },
      quota('indexMemoryQuota', 'index', 256),
      quota('ftsMemoryQuota', 'full text search', 256),
      quota('cbasMemoryQuota', 'analytics', 1024),
      quota('eventingMemoryQuota', 'eventing', 256),
      {
        name: 'strange',
        bad: [['1', 'Unsupported key']],
        missing: { reads: undefined },
        with: untouched,
      },
    ],
  });
});

/** A target whose requests authenticate as the present administrator. */
async function asAdministrator(): Promise<SettingsTarget> {
  let credentials = 'Administrator:password';
  const target = await managerTarget({ as: () => credentials });
  return {
    restartAfter: target.restartAfter,
    restart: () => target.restart(),
    async send(method, path, form) {
      const answer = await target.send(method, path, form);
      if (form && answer.status === 200) credentials = `${form['username']}:${form['password']}`;
      return answer;
    },
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  };
}

test('the last accepted request sets the administrator, also after a restart', async (t) => {
  await using target = await asAdministrator();
  const base = { port: 'SAME', username: 'Administrator', password: 'password' };
  const number = 'Port must be a number.';
  const outside = 'The port number must be greater than 1023 and less than 65536.';
  const elsewhere =
    'The port is fixed while the node runs (8091); start it with another --rest-port, or send SAME.';
  const characters =
    'Username must not contain spaces, control or any of ()<>,;:\\"/[]?={} characters and must be valid utf8';
  /** A password is read back by logging in with it. */
  const logsIn = (sent: string) => [sent, 'Administrator'] as const;
  await checkSettings(t, target, {
    write: '/settings/web',
    read: '/settings/web',
    base,
    refusal: refusals.fields,
    parameters: [
      {
        name: 'port',
        good: [
          ['SAME', 8091],
          ['8091', 8091],
        ],
        bad: [
          ['1023', outside],
          ['65536', outside],
          ['1024', elsewhere],
          ['65535', elsewhere],
          ...each(['', 'x', '8091.5', 'same'], number),
        ],
        missing: { reads: 8091 },
      },
      {
        name: 'username',
        good: [
          ['a', 'a'],
          ['x'.repeat(128), 'x'.repeat(128)],
        ],
        bad: [
          ['', 'Username must not be empty'],
          ['x'.repeat(129), 'Username may not exceed 128 characters'],
          ['@a', "Username cannot start with '@'"],
          ...each(['a b', 'a:b', 'a"b'], characters),
        ],
        missing: { text: supplied },
      },
      {
        name: 'password',
        good: [logsIn('secret'), logsIn('ä b:"c,'), logsIn('x'.repeat(4096))],
        bad: [
          ['short', 'The password must be at least 6 characters long.'],
          ['', 'The password must be at least 6 characters long.'],
          ['x'.repeat(4097), 'The password must be at most 4096 bytes long.'],
          ['secret\n', 'The password must not contain control characters'],
        ],
        missing: { text: supplied },
        find: (answer: { username: string }) => answer.username,
      },
    ],
  });
});

const unprovisioned = () => managerTarget({ provisioned: false, as: () => null });

test('folders and services of a node are chosen before it has an administrator', async (t) => {
  await using target = await unprovisioned();
  const storage = (name: string) => (answer: { storage: { hdd: Record<string, unknown>[] } }) =>
    answer.storage.hdd[0]?.[name];
  const unusable = (path: string) =>
    `Could not set the storage path. It must be a directory writable by this node: ${path}`;
  const folder = (name: string, member: string, reads = (path: string): unknown => path): Parameter => ({
    name,
    good: ['/ours/a', '/ours/b c'].map((path) => [path, reads(path)] as const),
    bad: [
      ['', `${name} cannot contain empty string`],
      ['ours', `An absolute path is required for ${name}`],
      ['/theirs', unusable('/theirs')],
    ],
    missing: { reads: reads('/ours/b c') },
    find: storage(member),
  });
  const list = (_key: string, text: string) => [text];
  await checkSettings(t, target, {
    write: '/nodes/self/controller/settings',
    read: '/nodes/self',
    refusal: list,
    parameters: [
      {
        name: 'path',
        good: [['/data', '/data']],
        bad: [
          ['', 'path cannot contain empty string'],
          ['data', 'An absolute path is required for path'],
          [
            '/ours',
            'Could not set the storage path. It is fixed while the node runs (/data); start it with another --data-dir.',
          ],
        ],
        missing: { reads: '/data' },
        find: storage('path'),
      },
      folder('index_path', 'index_path'),
      folder('eventing_path', 'eventing_path'),
      folder('cbas_path', 'cbas_dirs', (path) => [path]),
      {
        name: 'java_home',
        good: [
          ['', ''],
          ['/usr/lib/jvm', '/usr/lib/jvm'],
        ],
        missing: { reads: '/usr/lib/jvm' },
        find: storage('java_home'),
      },
    ],
  });
  await checkSettings(t, target, {
    write: '/node/controller/setupServices',
    read: '/nodes/self',
    base: { services: 'kv' },
    refusal: refusals.fields,
    parameters: [
      {
        name: 'services',
        good: [
          ['kv', ['kv']],
          ['kv,index,n1ql', ['kv', 'index', 'n1ql']],
          ['kv,cbbs,backup', ['kv', 'backup']],
        ],
        bad: [
          ['', 'At least one service has to be selected'],
          ['data', 'Unknown services: ["data"]'],
          ['kv,fts', 'Services not available in this version: fts. It runs: kv, index, n1ql, backup'],
        ],
        missing: { text: supplied },
      },
      {
        name: 'setDefaultMemQuotas',
        good: [
          ['false', ['kv']],
          ['true', ['kv']],
        ],
        bad: each(['', '1', 'True'], notBoolean),
        missing: { reads: ['kv'] },
        find: (answer: { services: string[] }) => answer.services,
      },
    ],
  });
});

test('a node accepts several folders for analytics, each once', async (t) => {
  const { request, manager } = await aManager({ provisioned: false });
  t.after(() => manager.stop());
  const readAnalyticsFolders = async () =>
    (await request('/nodes/self', { as: null })).body.storage.hdd[0].cbas_dirs;
  const send = (path: string, name: string, ...folders: string[]) =>
    request(path, { as: null, form: folders.map((folder): [string, string] => [name, folder]) });
  const settings = '/nodes/self/controller/settings';
  assert.equal((await send(settings, 'cbas_path', '/ours/a', '/ours/b')).status, 200);
  assert.deepEqual(await readAnalyticsFolders(), ['/ours/a', '/ours/b']);
  assert.equal((await send('/nodeInit', 'analyticsPath', '/ours/c', '/ours/d')).status, 200);
  assert.deepEqual(await readAnalyticsFolders(), ['/ours/c', '/ours/d']);
  const repeated = await send(settings, 'cbas_path', '/ours/a', '/ours/a');
  const text = 'Different directories should not resolve into the same physical location.';
  assert.deepEqual([repeated.status, repeated.body], [400, [`Could not set analytics storage. ${text}`]]);
  assert.deepEqual((await send(settings, 'cbas_path', '/ours/e', '/ours/e/')).body, repeated.body);
  const second = await send(settings, 'cbas_path', '/ours/a', 'b');
  assert.deepEqual([second.status, second.body], [400, ['An absolute path is required for cbas_path']]);
  assert.deepEqual(await readAnalyticsFolders(), ['/ours/c', '/ours/d']);
});

test('a node accepts as its name only a name or address on which it can listen', async (t) => {
  await using target = await managerTarget();
  await checkSettings(t, target, {
    write: '/node/controller/rename',
    read: '/nodes/self',
    refusal: (_key, text) => [text],
    parameters: [
      {
        name: 'hostname',
        good: ['here.example', '10.0.0.1', 'localhost'].map((name) => [name, `ns_1@${name}`] as const),
        bad: [
          ['', 'The name cannot be empty'],
          ['elsewhere', 'Could not listen on address "elsewhere": eaddrnotavail'],
        ],
        missing: { text: 'The name cannot be empty' },
        find: (answer: { otpNode: string }) => answer.otpNode,
      },
    ],
  });
});

type External = { alternateAddresses?: { external: { hostname: string; ports?: Record<string, number> } } };

test('alternate addresses are replaced as a whole, and kept', async (t) => {
  await using target = await managerTarget();
  const external = (answer: External) => answer.alternateAddresses?.external;
  const invalid =
    'Invalid hostname specified. Hostname should be 1000 characters or less and either a valid IPv4, IPv6, or FQDN';
  const longest = `${'a.'.repeat(499)}aa`;
  const port = (name: string): Parameter => ({
    name,
    good: [
      ['1024', 1024],
      ['65535', 65_535],
    ],
    bad: [
      ...each(
        ['1023', '65536', '0'],
        `Invalid Port "${name}" : The port number must be greater than 1023 and less than 65536.`,
      ),
      ...each(['', 'x', '-1', '2000.5'], `Invalid Port "${name}" : Port must be a number.`),
    ],
    missing: { reads: undefined },
    find: (answer: External) => external(answer)?.ports?.[name],
  });
  await checkSettings(t, target, {
    write: '/node/controller/setupAlternateAddresses/external',
    read: '/nodes/self',
    method: 'PUT',
    base: { hostname: 'outside.example' },
    refusal: refusals.text,
    parameters: [
      {
        name: 'hostname',
        good: ['a', '10.0.0.1', '::1', longest].map((name) => [name, name] as const),
        bad: each(['', `${longest}a`, 'a b', '-a', 'a..b'], invalid),
        missing: { text: 'hostname should be specified' },
        find: (answer: External) => external(answer)?.hostname,
      },
      ...['mgmt', 'mgmtSSL', 'kv', 'kvSSL', 'capi', 'capiSSL'].map(port),
      {
        name: 'n1ql',
        bad: [['8093', 'Cannot set external ports ["n1ql"] as services are unavailable on the node.']],
        missing: { reads: undefined },
      },
      {
        name: 'strange',
        bad: [['8093', 'Invalid Port "strange" : No such port.']],
        missing: { reads: undefined },
      },
    ],
  });
});
