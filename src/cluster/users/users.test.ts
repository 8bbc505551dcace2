import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realKdf } from '#auth/kdf.host.ts';
import type { Kdf } from '#auth/kdf.ts';
import { createHttpServer } from '#http/server.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import {
  accessCases,
  type Call,
  checkAccess,
  unprovisionedCases,
} from '../../../test/support/access-suite.ts';
import { schemaMismatches } from '../../../test/support/json-schema.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { RoleTargets } from './role-targets.ts';
import { WhoAmI } from './users.contract.ts';
import { createUsers } from './users.feature.ts';

/** A fast key derivation for tests. */
const quickKdf: Kdf = {
  scrypt: async (password, salt) => Buffer.concat([salt, Buffer.from(password)]),
  pbkdf2: async (password, salt) => Buffer.concat([salt, Buffer.from(password)]),
};

class Buckets implements RoleTargets {
  #uuids = new Map<string, string>([['travel', 'b1']]);
  #listeners = new Set<() => void>();
  bucket(name: string) {
    const uuid = this.#uuids.get(name);
    const collections = [{ name: 'c', uid: '9' }];
    return uuid ? { uuid, scopes: [{ name: 's', uid: '8', collections }] } : null;
  }
  set(name: string, uuid: string | null) {
    if (uuid === null) this.#uuids.delete(name);
    else this.#uuids.set(name, uuid);
    for (const listener of this.#listeners) listener();
  }
  onChange(listener: () => void) {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }
}

async function aNode(
  options: { edition?: 'enterprise' | 'community'; provisioned?: boolean; kdf?: Kdf } = {},
) {
  const clock = new ManualClock();
  const targets = new Buckets();
  const store = new MemoryConfigStore();
  const edition = options.edition ?? 'enterprise';
  const users = createUsers({
    store,
    targets,
    kdf: options.kdf ?? quickKdf,
    clock,
    random: realRandom,
    edition,
  });
  await users.start();
  if (options.provisioned !== false) await users.service.setAdministrator('Administrator', 'password');
  const server = await createHttpServer({
    routes: users.routes,
    authority: users.authenticator,
    hooks: { clusterUuid: () => 'c', bucketUuid: () => null },
    log: silentLog,
    clock,
  });
  const call = async (
    method: string,
    url: string,
    form = '',
    as: string | null = 'Administrator:password',
  ) => {
    const answer = await server.inject({
      method: method as 'GET',
      url,
      payload: form,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(as !== null && { authorization: `Basic ${Buffer.from(as).toString('base64')}` }),
      },
    });
    return { status: answer.statusCode, body: answer.body === '' ? null : JSON.parse(answer.body) };
  };
  const put = (id: string, form: string, as?: string) =>
    call('PUT', `/settings/rbac/users/local/${id}`, form, as);
  const plainCall: Call = async ({ method, url, authorization }) => {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await server.inject({ method: method as 'GET', url, headers });
    const challenge = answer.headers['www-authenticate'] as string | undefined;
    return { status: answer.statusCode, body: answer.body, challenge };
  };
  return { ...users, targets, store, clock, call, put, plainCall };
}

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

test("refuses the callers and inputs that each route's declaration excludes", async (t) => {
  const { put, plainCall, routes } = await aNode();
  await put('weak', 'password=secret1&roles=sync_gateway_replicator[*]');
  const identities = { admin: basic('Administrator:password'), weak: basic('weak:secret1') };
  const declarations = routes.map((bound) => bound.route);
  await checkAccess(t, accessCases(declarations, identities), plainCall);
  const unprovisioned = await aNode({ provisioned: false });
  await checkAccess(t, unprovisionedCases(declarations, identities.admin), unprovisioned.plainCall);
});

test('creates, reads, replaces and deletes a user', async () => {
  const { call, put } = await aNode();
  const form = 'name=Jane+Doe&password=secret1&roles=data_reader[travel:s:c],ro_admin&groups=';
  assert.deepEqual(await put('jane', form), { status: 200, body: '' });
  const { body } = await call('GET', '/settings/rbac/users/local/jane');
  assert.match(body.uuid, /^[0-9a-f-]{36}$/);
  assert.deepEqual(body, {
    id: 'jane',
    domain: 'local',
    roles: [
      {
        role: 'data_reader',
        bucket_name: 'travel',
        scope_name: 's',
        collection_name: 'c',
        origins: [{ type: 'user' }],
      },
      { role: 'ro_admin', origins: [{ type: 'user' }] },
    ],
    groups: [],
    external_groups: [],
    name: 'Jane Doe',
    uuid: body.uuid,
    password_change_date: '2023-11-14T22:13:20.000Z',
  });
  const identity = (await call('GET', '/whoami', '', 'jane:secret1')).body;
  assert.deepEqual([identity.id, schemaMismatches(identity, WhoAmI.answer.json)], ['jane', []]);
  assert.deepEqual(await put('jane', 'roles=data_writer[travel]'), { status: 200, body: '' });
  const again = (await call('GET', '/settings/rbac/users/local/jane')).body;
  assert.equal(again.name, undefined);
  assert.equal(again.uuid, body.uuid);
  assert.deepEqual(
    again.roles.map((role: { role: string }) => role.role),
    ['data_writer'],
  );
  assert.equal((await call('GET', '/settings/rbac/users')).body.length, 1);
  assert.deepEqual(await call('DELETE', '/settings/rbac/users/local/jane'), { status: 200, body: '' });
  assert.deepEqual(await call('DELETE', '/settings/rbac/users/local/jane'), {
    status: 404,
    body: 'User was not found.',
  });
  assert.deepEqual(await call('GET', '/settings/rbac/users/local/jane'), {
    status: 404,
    body: 'Unknown user.',
  });
});

test('the node reports every wrong field of a user, and changes nothing', async () => {
  const { put, service } = await aNode();
  assert.deepEqual(
    await put('jane', 'roles=nonsense,data_reader[gone],admin&groups=g&limits=x&odd=1&password=short'),
    {
      status: 400,
      body: {
        errors: {
          limits: 'Invalid JSON',
          odd: 'Unsupported key',
          roles:
            'Cannot assign roles to user because the following roles are unknown, malformed or role parameters are undefined: [nonsense,data_reader[gone]]',
          groups: 'Groups do not exist: g',
          password: 'The password must be at least 6 characters long.',
        },
      },
    },
  );
  assert.deepEqual((await put('jane', 'roles=admin')).body, {
    errors: { password: 'Password is required for new user.' },
  });
  assert.deepEqual(
    (await put('a%20b', 'password=secret1')).body.errors._.slice(0, 28),
    'Username must not contain sp',
  );
  assert.deepEqual((await put('Administrator', 'password=secret1')).body, {
    errors: { _: 'This is the name of the administrator.' },
  });
  assert.deepEqual(service.users(), []);
});

test('the node stores the users of two domains separately, and refuses other domains', async () => {
  const { call } = await aNode();
  assert.deepEqual(await call('GET', '/settings/rbac/users/moon'), {
    status: 404,
    body: 'Unknown user domain.',
  });
  assert.deepEqual(await call('PUT', '/settings/rbac/users/moon/x', 'password=secret1'), {
    status: 404,
    body: 'Unknown user domain.',
  });
  assert.deepEqual(await call('GET', '/settings/rbac/users/external'), { status: 200, body: [] });
  assert.equal((await call('PUT', '/settings/rbac/users/external/x', 'roles=admin')).status, 200);
  assert.deepEqual((await call('GET', '/settings/rbac/users/local')).body, []);
  assert.equal((await call('GET', '/settings/rbac/users/external')).body[0].id, 'x');
});

test('the node accepts __proto__ as the name of a user', async () => {
  const { call, put } = await aNode();
  assert.equal((await call('GET', '/settings/rbac/users/local/__proto__')).status, 404);
  assert.equal((await put('__proto__', 'password=secret1&roles=admin')).status, 200);
  assert.equal((await call('GET', '/whoami', '', '__proto__:secret1')).body.id, '__proto__');
});

test('the node changes a password with PATCH, and the password of the caller with changePassword', async () => {
  const { call, put, identities } = await aNode();
  await put('jane', 'password=secret1&roles=data_reader[travel]');
  const credential = () => identities.find('jane')?.credentialId;
  const first = credential();
  assert.equal((await call('PATCH', '/settings/rbac/users/local/jane', 'password=secret2')).status, 200);
  const second = credential();
  assert.notEqual(second, first);
  assert.deepEqual(await call('POST', '/controller/changePassword', 'password=secret3', 'jane:secret2'), {
    status: 200,
    body: null,
  });
  assert.notEqual(credential(), second);
  assert.equal((await call('GET', '/whoami', '', 'jane:secret3')).status, 200);
  assert.deepEqual((await call('POST', '/controller/changePassword', '', 'jane:secret3')).body, {
    errors: { password: 'The value must be supplied' },
  });
  assert.equal((await call('PATCH', '/settings/rbac/users/local/joe', 'password=secret2')).status, 404);
  assert.equal((await call('POST', '/controller/changePassword', 'password=changed')).status, 200);
  assert.equal((await call('GET', '/whoami', '', 'Administrator:changed')).body.domain, 'admin');
});

test('the node keeps sessions valid when a user is stored with the same password again', async () => {
  const { put, identities } = await aNode();
  await put('jane', 'password=secret1');
  const before = identities.find('jane')?.credentialId;
  await put('jane', 'password=secret1&roles=ro_admin');
  assert.equal(identities.find('jane')?.credentialId, before);
  assert.deepEqual(
    identities.find('jane')?.roles.map((role) => role.role),
    ['ro_admin'],
  );
});

test('the node stores the role security_admin of earlier versions as the two roles that replaced it', async () => {
  const { call, put } = await aNode();
  assert.equal((await put('u', 'password=secret1&roles=security_admin,ro_admin')).status, 200);
  const { roles } = (await call('GET', '/settings/rbac/users/local/u')).body;
  assert.deepEqual(
    roles.map(({ role }: { role: string }) => role),
    ['security_admin_local', 'security_admin_external', 'ro_admin'],
  );
  assert.equal((await put('v', 'password=secret1&roles=security_admin[travel]')).status, 400);
});

test('the node grants roles through groups, and revokes them with the group', async () => {
  const { call, put } = await aNode();
  assert.deepEqual(await call('PUT', '/settings/rbac/groups/readers', 'description=d'), {
    status: 400,
    body: { errors: { roles: 'The value must be supplied' } },
  });
  assert.equal(
    (await call('PUT', '/settings/rbac/groups/readers', 'roles=ro_admin&description=d')).status,
    200,
  );
  await put('jane', 'password=secret1&groups=readers&roles=ro_admin');
  assert.deepEqual((await call('GET', '/settings/rbac/users/local/jane')).body.roles, [
    { role: 'ro_admin', origins: [{ type: 'group', name: 'readers' }, { type: 'user' }] },
  ]);
  await put('jane', 'groups=readers');
  assert.equal((await call('GET', '/settings/rbac/users', '', 'jane:secret1')).status, 200);
  assert.deepEqual((await call('GET', '/settings/rbac/groups')).body, [
    { id: 'readers', roles: [{ role: 'ro_admin' }], description: 'd' },
  ]);
  assert.deepEqual(await call('DELETE', '/settings/rbac/groups/readers'), { status: 200, body: '' });
  assert.equal(
    (await call('GET', '/settings/rbac/users', '', 'jane:secret1')).status,
    401,
    'no role is left',
  );
  assert.deepEqual((await call('GET', '/settings/rbac/users/local/jane')).body.groups, []);
  assert.deepEqual(await call('DELETE', '/settings/rbac/groups/readers'), {
    status: 404,
    body: 'Group was not found.',
  });
  assert.deepEqual(await call('GET', '/settings/rbac/groups/x'), { status: 404, body: 'Unknown group.' });
});

test('the node lets a local security administrator manage users, but neither see nor create administrators', async () => {
  const { call, put } = await aNode();
  await put('sec', 'password=secret1&roles=security_admin_local');
  await put('viewer', 'password=secret1&roles=ro_admin');
  await put('jane', 'password=secret1&roles=data_reader[travel]');
  await put('ext', 'password=secret1&roles=security_admin_external');
  const as = 'sec:secret1';
  const ids = (await call('GET', '/settings/rbac/users', '', as)).body.map((user: { id: string }) => user.id);
  assert.deepEqual(ids, ['jane']);
  assert.equal((await put('joe', 'password=secret1&roles=data_writer[travel]', as)).status, 200);
  const refused = await put('joe', 'roles=admin', as);
  assert.equal(refused.status, 403);
  assert.deepEqual(refused.body.permissions, ['cluster.admin.security.admin!write']);
  assert.equal((await put('viewer', 'roles=data_reader[travel]', as)).status, 403);
  assert.equal((await call('DELETE', '/settings/rbac/users/local/viewer', '', as)).status, 403);
  assert.equal((await call('GET', '/settings/rbac/users/local/viewer', '', as)).status, 403);
  assert.equal((await call('PATCH', '/settings/rbac/users/local/sec', 'password=secret2', as)).status, 403);
  assert.equal(
    (await put('joe', 'roles=', 'ext:secret1')).status,
    403,
    'an administrator of external users changed a local user',
  );
  assert.equal((await put('joe', 'roles=', 'viewer:secret1')).status, 403);
  assert.equal((await call('GET', '/settings/rbac/users', '', 'jane:secret1')).status, 403);
  const roles = (await call('GET', '/settings/rbac/roles', '', as)).body.map(
    (role: { role: string }) => role.role,
  );
  assert.ok(!roles.includes('admin') && !roles.includes('ro_admin') && roles.includes('data_reader'));
});

test('the node lists roles with their names and parameters, or those that grant a permission', async () => {
  const { call } = await aNode();
  const { body } = await call('GET', '/settings/rbac/roles');
  assert.deepEqual(Object.keys(body[0]), ['role', 'name', 'desc']);
  assert.equal(body[0].name, 'Full Admin');
  const reader = body.find((role: { role: string }) => role.role === 'data_reader');
  assert.deepEqual([reader.bucket_name, reader.scope_name, reader.collection_name], ['*', '*', '*']);
  const granting = (
    await call('GET', '/settings/rbac/roles?permission=cluster.bucket[travel].data.docs!insert')
  ).body;
  const texts = granting.map(
    (role: Record<string, string>) => `${role['role']}:${role['bucket_name'] ?? ''}`,
  );
  assert.deepEqual(
    texts.filter((text: string) => /^(admin|data_writer|data_reader|query_insert)/.test(text)),
    ['admin:', 'data_writer:*', 'data_writer:travel', 'query_insert:*', 'query_insert:travel'],
  );
  assert.deepEqual(await call('GET', '/settings/rbac/roles?permission=x'), {
    status: 400,
    body: { errors: { permission: 'Malformed permission' } },
  });
});

test('pages through users with links to the other pages', async () => {
  const { call, put } = await aNode();
  for (const id of ['a', 'b', 'c', 'd', 'e'])
    await put(id, `password=secret1&name=${id === 'c' ? 'Sea' : 'Land'}`);
  const page = async (query: string) => {
    const { body } = await call('GET', `/settings/rbac/users?${query}`);
    return { ...body, users: body.users?.map((user: { id: string }) => user.id) };
  };
  const base = '/settings/rbac/users?pageSize=2&sortBy=id&order=asc';
  assert.deepEqual(await page('pageSize=2'), {
    total: 5,
    links: {
      next: `${base}&startFromDomain=local&startFrom=c`,
      last: `${base}&startFromDomain=local&startFrom=d`,
    },
    skipped: 0,
    users: ['a', 'b'],
  });
  assert.deepEqual(await page('pageSize=2&startFrom=c&startFromDomain=local'), {
    total: 5,
    links: {
      first: base,
      prev: `${base}&startFromDomain=local&startFrom=a`,
      next: `${base}&startFromDomain=local&startFrom=e`,
      last: `${base}&startFromDomain=local&startFrom=e`,
    },
    skipped: 2,
    users: ['c', 'd'],
  });
  assert.deepEqual((await page('pageSize=2&order=desc')).users, ['e', 'd']);
  assert.deepEqual((await page('pageSize=2&sortBy=name')).users, ['a', 'b']);
  assert.deepEqual((await page('pageSize=10&substr=SEA')).users, ['c']);
  assert.deepEqual((await page('pageSize=2&startFrom=c')).errors, {
    startFromDomain: 'The value must be supplied',
  });
  assert.deepEqual((await page('pageSize=1')).errors, {
    pageSize: 'The value must be in range from 2 to 100',
  });
});

test('the node shows callers their identity, and before there is an administrator an anonymous identity with the role of an administrator', async () => {
  const unprovisioned = await aNode({ provisioned: false });
  assert.deepEqual(await unprovisioned.call('GET', '/whoami', '', 'any:thing'), {
    status: 200,
    body: { id: '', domain: 'anonymous', roles: [{ role: 'admin' }] },
  });
  assert.equal((await unprovisioned.call('GET', '/settings/rbac/users')).status, 401);
  const { call } = await aNode();
  assert.deepEqual((await call('GET', '/whoami', '', null)).body, { id: '', domain: 'anonymous', roles: [] });
  assert.deepEqual((await call('GET', '/whoami')).body, {
    id: 'Administrator',
    domain: 'admin',
    roles: [{ role: 'admin' }],
  });
});

test('the node checks permissions for the caller', async () => {
  const { call, put } = await aNode();
  await put('jane', 'password=secret1&roles=bucket_admin[travel]');
  const check = (text: string, as: string | null = 'jane:secret1') =>
    call('POST', '/pools/default/checkPermissions', text, as);
  const text = 'cluster.bucket[travel].settings!write, cluster.buckets!create';
  assert.deepEqual((await check(text)).body, {
    'cluster.bucket[travel].settings!write': true,
    'cluster.buckets!create': false,
  });
  assert.deepEqual((await check('cluster.pools!read', null)).body, { 'cluster.pools!read': false });
  assert.deepEqual(await check('cluster.x,y'), {
    status: 400,
    body: 'Malformed permissions: [cluster.x,y].',
  });
  assert.deepEqual(await check(''), { status: 400, body: 'Request body should not be empty.' });
});

test('revokes a role with its bucket, also if another of the name is created', async () => {
  const { put, identities, targets } = await aNode();
  await put('jane', 'password=secret1&roles=data_reader[travel],data_writer[*]');
  const roles = () => identities.find('jane')?.roles.map((role) => role.role);
  assert.deepEqual(roles(), ['data_reader', 'data_writer']);
  targets.set('travel', null);
  assert.deepEqual(roles(), ['data_writer']);
  targets.set('travel', 'b2');
  assert.deepEqual(roles(), ['data_writer']);
});

test('the node sends all accounts to the data service, the administrator with every right', async () => {
  const { put, identities, targets } = await aNode();
  let changes = 0;
  identities.onChange(() => changes++);
  await put('jane', 'password=secret1&roles=data_reader[travel:s]');
  assert.equal(changes, 1);
  const travel = targets.bucket('travel');
  assert.ok(travel);
  const specs = identities.specs(new Map([['travel', travel]]));
  assert.deepEqual(
    specs.map((spec) => spec.name),
    ['Administrator', 'jane'],
  );
  assert.ok(specs[0]?.grants.buckets['*']);
  assert.deepEqual(Object.keys(specs[1]?.grants.buckets['travel']?.scopes ?? {}), ['8']);
  assert.equal(specs[1]?.credentialId, identities.find('jane')?.credentialId);
  assert.ok(specs[1]?.scram?.sha512.storedKey);
});

test('the community edition has only its own roles, at most twenty users, and no groups', async () => {
  const { call, put } = await aNode({ edition: 'community' });
  assert.equal((await put('jane', 'password=secret1&roles=cluster_admin')).status, 400);
  for (let n = 0; n < 20; n++)
    assert.equal((await put(`u${n}`, 'password=secret1&roles=ro_admin')).status, 200);
  assert.deepEqual((await put('more', 'password=secret1')).body, {
    errors: { _: 'You cannot create any more users on Community Edition.' },
  });
  const roles = (await call('GET', '/settings/rbac/roles')).body.map((role: { role: string }) => role.role);
  assert.deepEqual(roles, ['admin', 'ro_admin', 'bucket_full_access']);
});

test('the node keeps an administrator that is set again, and refuses bad names and passwords', async () => {
  const { service, identities } = await aNode({ kdf: realKdf });
  const before = identities.find('Administrator')?.credentialId;
  await service.setAdministrator('Administrator', 'password');
  assert.equal(identities.find('Administrator')?.credentialId, before);
  assert.deepEqual(service.administratorProblems('', 'x'), {
    username: 'Username must not be empty',
    password: 'The password must be at least 6 characters long.',
  });
  await assert.rejects(service.setAdministrator('@x', 'password'), { status: 400 });
  assert.equal(service.administratorName(), 'Administrator');
});

test('prevents a local security administrator from granting administrator roles of any kind', async () => {
  const { call, put } = await aNode();
  await put('sec', 'password=secret1&roles=security_admin_local');
  await put('chief', 'password=secret1&roles=cluster_admin');
  const as = 'sec:secret1';
  const roles = [
    'cluster_admin',
    'bucket_admin[*]',
    'backup_admin',
    'replication_admin',
    'security_admin_local',
  ];
  const more = [
    'security_admin_external',
    'ro_admin',
    'admin',
    'fts_admin[*]',
    'eventing_admin',
    'scope_admin[*]',
  ];
  for (const role of [...roles, ...more]) {
    assert.equal((await put('joe', `password=secret1&roles=${role}`, as)).status, 403, role);
    const group = await call('PUT', '/settings/rbac/groups/g', `roles=${role}`, as);
    assert.equal(group.status, 403, role);
  }
  assert.equal((await put('sec', 'roles=security_admin_local,cluster_admin', as)).status, 403);
  assert.equal((await call('PATCH', '/settings/rbac/users/local/chief', 'password=secret2', as)).status, 403);
  assert.equal((await call('DELETE', '/settings/rbac/users/local/chief', '', as)).status, 403);
  assert.equal((await put('joe', 'password=secret1&roles=bucket_full_access[*]', as)).status, 200);
});
