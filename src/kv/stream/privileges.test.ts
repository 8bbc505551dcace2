// Which changes a user may stream, and which scopes and collections a user with privileges in one collection sees.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileGrants } from '#auth/grants.ts';
import { Message } from '#wire/dcp.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired, aUser, startService } from '../../../test/support/data-service.ts';
import { DcpClient } from '../../../test/support/dcp-client.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const { manifest } = aBucket('b');
const withEmptyScope = {
  ...manifest,
  scopes: [...manifest.scopes, { name: 'empty', uid: 'c', collections: [] }],
};
const follower = (name: string, ...paths: string[]) => {
  const roles = paths.map((path) => {
    const [scope = null, collection = null] = path === '' ? [] : path.split('.');
    return { role: 'data_dcp_reader', names: ['b', scope, collection] };
  });
  const target = { uuid: 'u', scopes: withEmptyScope.scopes };
  return aUser(
    name,
    'password',
    compileGrants(roles, () => target),
  );
};
const desired = aDesired({
  buckets: [aBucket('b', { manifest: withEmptyScope })],
  users: [
    aUser('admin', 'password'),
    follower('orders', 'shop.orders'),
    follower('both', 'shop.orders', 'shop.carts'),
    follower('shop', 'shop'),
    follower('empty', 'empty', 'shop.orders'),
    follower('all', ''),
  ],
});

const { success, noAccess, unknownCollection, unknownScope } = Status;
const requests: readonly (readonly [value: object | undefined, user: string, status: number])[] = [
  [undefined, 'orders', noAccess],
  [undefined, 'both', noAccess],
  [undefined, 'shop', noAccess],
  [undefined, 'all', success],
  [{ collections: ['0'] }, 'orders', unknownCollection],
  [{ collections: ['8'] }, 'orders', success],
  [{ collections: ['8', '9'] }, 'orders', unknownCollection],
  [{ collections: ['8', '9'] }, 'both', success],
  [{ collections: ['8', '0'] }, 'both', unknownCollection],
  [{ scope: '0' }, 'orders', unknownCollection],
  [{ scope: '8' }, 'orders', unknownCollection],
  [{ scope: '8' }, 'both', success],
  [{ scope: '8' }, 'shop', success],
  [{ scope: '9' }, 'shop', unknownCollection],
  [{ scope: 'c' }, 'shop', unknownScope],
  [{ scope: 'c' }, 'empty', success],
];

test('a filter requires the privilege in each collection that it names, and a stream without a filter requires it in the bucket', async (t) => {
  await using service = await startService(desired);
  t.plan(requests.length);
  for (const [value, user, status] of requests) {
    const client = await new DcpClient(await service.ready({ user })).open(user);
    const reply = await client.stream(0, value ? { value } : {});
    t.assert.equal(reply.status, status, `${user} ${JSON.stringify(value)}`);
    client.connection.close();
  }
});

test('a client without collections requires the privilege in the default collection', async () => {
  await using service = await startService(desired);
  for (const [user, status] of [
    ['orders', unknownCollection],
    ['all', success],
  ] as const) {
    const client = await new DcpClient(
      await service.ready({ user, features: [Feature.xattr, Feature.xerror] }),
    ).open(user);
    assert.equal((await client.stream(0)).status, status, user);
  }
});

test('a stream ends when its connection logs in as a user without the privilege', async () => {
  await using service = await startService(desired);
  const client = await new DcpClient(await service.ready({ user: 'shop' })).open('s');
  assert.equal((await client.stream(0, { value: { collections: ['9'] } })).status, 0);
  const { connection } = client;
  connection.send({
    opcode: Opcode.saslAuth,
    key: Buffer.from('PLAIN'),
    value: Buffer.from('\0orders\0password'),
  });
  connection.send({ opcode: Opcode.selectBucket, key: Buffer.from('b') });
  const admin = await service.ready();
  const key = Buffer.from('\x09k');
  await admin.ask({ opcode: Opcode.set, key, extras: Buffer.alloc(8), value: Buffer.from('secret') });
  for (let reply = await connection.next(); reply; reply = await connection.next()) {
    assert.notEqual(
      reply.opcode,
      Message.mutation,
      'a document of a collection that the new user may not see',
    );
    if (reply.opcode === Message.streamEnd) break;
  }
});

test('privileges in a collection make it visible, the privilege to open DCP connections does not', async () => {
  await using service = await startService(desired);
  const client = await service.ready({ user: 'orders' });
  const { getCollectionId, getScopeId } = Opcode;
  const ask = async (opcode: number, name: string) =>
    (await client.ask({ opcode, value: Buffer.from(name) })).status;
  assert.equal(await ask(getCollectionId, 'shop.orders'), success);
  assert.equal(await ask(getCollectionId, 'shop.carts'), unknownCollection);
  assert.equal(await ask(getCollectionId, '_default._default'), unknownScope);
  assert.equal(await ask(getScopeId, 'shop'), success);
  assert.equal(await ask(getScopeId, '_default'), unknownScope);
  assert.equal(await ask(getScopeId, 'empty'), unknownScope, 'a scope without collections is visible');
  const { value } = await client.ask({ opcode: Opcode.getManifest });
  assert.deepEqual(
    JSON.parse(value.toString()).scopes.map(({ name, collections }: (typeof manifest.scopes)[0]) => [
      name,
      collections.map((collection) => collection.name),
    ]),
    [['shop', ['orders']]],
  );
});

test('statistics of collections include those in which the user may read statistics', async () => {
  const roles = [
    { role: 'data_monitoring', names: ['b', 'shop', 'carts'] },
    { role: 'data_reader', names: ['b', 'shop', 'orders'] },
  ];
  const target = { uuid: 'u', scopes: manifest.scopes };
  const monitor = aUser(
    'monitor',
    'password',
    compileGrants(roles, () => target),
  );
  await using service = await startService(aDesired({ users: [aUser('admin', 'password'), monitor] }));
  const client = await service.ready({ user: 'monitor' });
  const names = async (group: string): Promise<string[]> => {
    const seen: string[] = [];
    client.send({ opcode: Opcode.stat, key: Buffer.from(group) });
    for (let reply = await client.next(); reply?.key.length; reply = await client.next())
      seen.push(reply.key.toString());
    return seen;
  };
  assert.deepEqual(
    (await names('collections')).filter((name) => name.endsWith(':items')),
    ['0x8:0x9:items'],
  );
  assert.deepEqual(await names('scopes'), ['manifest_uid', '0x8:name', '0x8:collections', '0x8:items']);
  assert.ok((await names('collections-details 0')).every((name) => name.startsWith('vb_0:0x9:')));
  const status = async (group: string) =>
    (await client.ask({ opcode: Opcode.stat, key: Buffer.from(group) })).status;
  assert.equal(await status('collections shop.orders'), noAccess);
  assert.equal(await status('collections _default._default'), unknownCollection);
});
