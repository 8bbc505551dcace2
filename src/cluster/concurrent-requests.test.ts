// Requests that race: what a check found must still hold when the change is stored.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aManager } from '../../test/support/manager.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { createUsers } from './users/users.feature.ts';

/** Lets other requests run between reading and writing, as a disk does, so that concurrent requests overlap. */
class SlowStore extends MemoryConfigStore {
  override async put<T>(key: string, value: T, expectedRevision: number): Promise<number | null> {
    await new Promise((resolve) => setImmediate(resolve));
    return super.put(key, value, expectedRevision);
  }
}

const aSlowManager = (provisioned: boolean) => aManager({ provisioned, store: new SlowStore() });

const names = ['first', 'second', 'third', 'fourth'];

/** The name of the administrator, read with the credentials of `winner`. (Wrong ones would be answered after a delay, and the clock stands still.) */
async function administratorBy(request: Awaited<ReturnType<typeof aManager>>['request'], winner: string) {
  const { status, body } = await request('/settings/web', { as: `${winner}:password` });
  return [status, body.username];
}

test('of several requests to set the cluster up at once exactly one succeeds, and the others change nothing', async () => {
  const { request } = await aSlowManager(false);
  const init = (username: string, index: number) => ({
    username,
    password: 'password',
    port: 'SAME',
    services: 'kv',
    memoryQuota: 300 + index,
    clusterName: username,
  });
  const answers = await Promise.all(
    names.map((name, index) => request('/clusterInit', { as: null, form: init(name, index) })),
  );
  const winners = names.filter((_, index) => answers[index]?.status === 200);
  assert.equal(winners.length, 1, answers.map(({ status }) => status).join(' '));
  for (const answer of answers.filter(({ status }) => status !== 200 && status !== 401))
    assert.deepEqual(
      [answer.status, answer.body],
      [400, { errors: { _: 'The cluster is already provisioned' } }],
    );
  const [winner = ''] = winners;
  assert.deepEqual(await administratorBy(request, winner), [200, winner]);
  const { body } = await request('/pools/default', { as: `${winner}:password` });
  assert.deepEqual([body.clusterName, body.memoryQuota], [winner, 300 + names.indexOf(winner)]);
});

test('the node stores exactly one of several first credentials sent at once, by any route', async () => {
  const { request } = await aSlowManager(false);
  const answers = await Promise.all(
    names.map((username, index) => {
      const credentials = { username, password: 'password', port: 'SAME' };
      return index % 2 === 0
        ? request('/settings/web', { as: null, form: credentials })
        : request('/clusterInit', { as: null, form: { ...credentials, services: 'kv' } });
    }),
  );
  const winners = names.filter((_, index) => answers[index]?.status === 200);
  assert.equal(winners.length, 1, answers.map(({ status }) => status).join(' '));
  const [winner = ''] = winners;
  assert.deepEqual(await administratorBy(request, winner), [200, winner]);
});

/** Sends the head of a request, then waits until the server has authorized it, which 100 Continue shows. */
async function beginRequest(port: number, { path, as, body }: { path: string; as?: string; body: string }) {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const authorization =
    as === undefined ? '' : `Authorization: Basic ${Buffer.from(as).toString('base64')}\r\n`;
  const form = 'Content-Type: application/x-www-form-urlencoded\r\n';
  const length = `Content-Length: ${body.length}\r\n`;
  const seen = new Promise<void>((resolve) => {
    socket.on('data', (data) => {
      received += data.toString();
      if (received.includes('100 Continue')) resolve();
    });
  });
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n${authorization}${form}${length}\r\n`,
  );
  await seen;
  return {
    finish: async () => {
      socket.write(body);
      await ended;
      return Number(/HTTP\/1\.1 (?!100)(\d+)/.exec(received)?.[1]);
    },
  };
}

test('requires credentials if the first administrator is set while the body of a request arrives', async () => {
  const { request, server } = await aManager({ provisioned: false });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const credentials = (username: string) => `username=${username}&password=password&port=SAME`;
  const early = await beginRequest(port, { path: '/settings/web', body: credentials('second') });
  const memory = await beginRequest(port, { path: '/pools/default', body: 'memoryQuota=999' });
  const form = { username: 'first', password: 'password', port: 'SAME', services: 'kv', memoryQuota: 300 };
  assert.equal((await request('/clusterInit', { as: null, form })).status, 200);
  assert.equal(await early.finish(), 401);
  assert.equal(await memory.finish(), 401);
  assert.deepEqual(await administratorBy(request, 'first'), [200, 'first']);
  assert.equal((await request('/pools/default', { as: 'first:password' })).body.memoryQuota, 300);
  await server.stop(1000);
});

test('the node checks access again if an account loses its roles while the body of its request arrives', async () => {
  const { request, server } = await aManager();
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const put = (name: string, roles: string) =>
    request(`/settings/rbac/users/local/${name}`, { method: 'PUT', form: { password: 'password', roles } });
  const begin = (name: string) =>
    beginRequest(port, { path: '/pools/default', as: `${name}:password`, body: `clusterName=${name}` });
  for (const name of ['demoted', 'stays']) await put(name, 'admin');
  const [demoted, stays] = [await begin('demoted'), await begin('stays')];
  await put('demoted', 'ro_admin');
  assert.deepEqual([await demoted.finish(), await stays.finish()], [403, 200]);
  assert.equal((await request('/pools/default')).body.clusterName, 'stays');
  await server.stop(1000);
});

test('a user is not stored with a group that is deleted after the form of the user was read', async (t) => {
  const begun = deferred<void>();
  const hashed = deferred<void>();
  let isSlow = false;
  const derive = async (password: string, salt: Buffer) => {
    if (isSlow) begun.resolve();
    if (isSlow) await hashed.promise;
    return Buffer.concat([salt, Buffer.from(password)]);
  };
  const users = createUsers({
    store: new MemoryConfigStore(),
    targets: { bucket: () => null, onChange: () => ({ stop: () => {} }) },
    kdf: { scrypt: derive, pbkdf2: derive },
    clock: new ManualClock(),
    random: realRandom,
    edition: 'enterprise',
  });
  t.after(() => users.stop());
  await users.start();
  const { service } = users;
  await service.putGroup('crew', service.readGroup('crew', { roles: 'ro_admin' }));
  isSlow = true;
  const put = service.putUser('jane', service.readUser('jane', { password: 'password', groups: 'crew' }));
  await begun.promise;
  const external = service.readExternal('joe', { groups: 'crew' });
  await service.deleteGroup('crew');
  hashed.resolve();
  await assert.rejects(put, { status: 400 });
  assert.equal(service.user('jane'), undefined);
  await assert.rejects(service.putExternal('joe', external), { status: 400 });
  assert.equal(service.externalUser('joe'), undefined);
});

/** The published limit on the scopes of a cluster; default scopes do not count. */
const scopesMax = 1_200;

test('the limit on scopes holds for changes of several buckets at once', async () => {
  const { request } = await aSlowManager(true);
  for (const name of ['a', 'b']) {
    const form = { name, bucketType: 'native', ramQuota: 100, replicaNumber: 0 };
    assert.equal((await request('/pools/default/buckets', { form })).status, 202);
  }
  // One more is allowed.
  const added = Array.from({ length: scopesMax - 1 }, (_, index) => ({
    name: `s${index}`,
    collections: [],
  }));
  const scopes = [{ name: '_default', collections: [{ name: '_default' }] }, ...added];
  const filled = await request('/pools/default/buckets/a/scopes', { method: 'PUT', json: { scopes } });
  assert.equal(filled.status, 200, filled.text);
  const answers = await Promise.all(
    ['a', 'b', 'a', 'b'].map((bucket, index) =>
      request(`/pools/default/buckets/${bucket}/scopes`, { form: { name: `more${index}` } }),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400]);
});
