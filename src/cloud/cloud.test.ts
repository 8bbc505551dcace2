import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { SecretBox, secretKeyBytes } from '#auth/secret-box.ts';
import { realClock } from '#ports/clock.ts';
import { handleShares } from '#ports/handles.ts';
import { realRandom } from '#ports/random.ts';
import { aCloud } from '../../test/support/a-cloud.ts';
import { aClusterRow } from '../../test/support/cluster-row.ts';
import { signatureOf, timestampHeader } from './access/signature.ts';
import { TokenStore } from './access/tokens.store.ts';
import { CloudsService } from './clouds/clouds.service.ts';
import { OperationsStore } from './operations/operations.store.ts';
import { migrate } from './store/migrations.ts';
import { openSqlite } from './store/sqlite.adapter.ts';
import type { TokenRow } from './store/tables.ts';

test('the cloud answers 500 without details for every operation once its database is closed', async () => {
  const { store, cloud, errors } = await aCloud();
  const headers = { authorization: `Bearer ${cloud.startToken.token}` };
  const { paths } = (await cloud.api.inject('/openapi.json')).json();
  assert.equal((await cloud.api.inject({ url: '/v2/projects', headers })).statusCode, 200);
  await store.destroy();
  for (const [path, methods] of Object.entries(paths as Record<string, object>)) {
    if (path === '/v2/status') continue;
    const url = path.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000');
    for (const method of Object.keys(methods)) {
      const answer = await cloud.api.inject({ method: method.toUpperCase() as 'GET', url, headers });
      assert.equal(answer.statusCode, 500, `${method} ${path}`);
      assert.equal(answer.json().errorType, 'InternalServerError');
      assert.doesNotMatch(answer.body, /database|sqlite|stack/i);
    }
  }
  assert.ok(errors.includes('request.failed'));
  assert.equal((await cloud.api.inject('/v2/status')).statusCode, 200);
  await cloud.stop();
});

test('the cloud accepts an access key with its signature, and refuses more text after the signature', async (t) => {
  const { cloud, clock } = await aCloud();
  t.after(() => cloud.stop());
  const { accessKey, secretKey } = cloud.startToken;
  const timestamp = String(clock.wallMs());
  const signed = `Bearer ${accessKey}:${signatureOf(secretKey, 'GET', '/v3/caller', timestamp)}`;
  const statusFor = async (authorization: string) => {
    const headers = { authorization, [timestampHeader]: timestamp };
    return (await cloud.api.inject({ url: '/v3/caller', headers })).statusCode;
  };
  assert.deepEqual([await statusFor(signed), await statusFor(`${signed}:more`)], [200, 401]);
});

test('the cloud refuses a request whose token is revoked while its body arrives', async (t) => {
  const parts = await aCloud();
  t.after(() => parts.cloud.stop());
  const tokens = new TokenStore(parts);
  const owner = { role: 'organizationOwner', projectId: null, origin: 'operator', expiresAt: null } as const;
  const { id, token } = await tokens.issue(owner);
  const statusOf = async (beforeBody: () => Promise<unknown>) => {
    const body = async function* () {
      await beforeBody();
      yield JSON.stringify({ name: 'late' });
    };
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const request = { method: 'POST', url: '/v2/projects', headers, payload: Readable.from(body()) } as const;
    return (await parts.cloud.api.inject(request)).statusCode;
  };
  assert.equal(await statusOf(() => tokens.markUsed([id], 1)), 201);
  assert.equal(await statusOf(() => tokens.revoke({ id })), 401);
  assert.equal((await parts.get('/v2/projects')).body.data.length, 1);
});

test('the cloud leaves file handles for files and nodes, however many connections clients with a token open', async (t) => {
  const { cloud } = await aCloud();
  t.after(() => cloud.stop());
  assert.equal(cloud.api.server.maxConnections, handleShares().rest);
});

test('the cloud keeps of the tokens of starts only the valid one and the one that it replaced', async (t) => {
  const { store, state } = openSqlite(':memory:');
  await migrate(store);
  const secrets = new SecretBox(realRandom.bytes(secretKeyBytes), realRandom);
  const tokens = new TokenStore({ store, secrets, clock: realClock, random: realRandom });
  const origin = 'start:here';
  const issued = [];
  for (let start = 0; start < 3; start++) {
    await tokens.revoke({ origin });
    issued.push(await tokens.issue({ role: 'reader', projectId: null, origin, expiresAt: null }));
  }
  const { cloud, get } = await aCloud({ store, state, secrets });
  t.after(() => cloud.stop());
  const kept = (await tokens.list()).map(({ id, revoked_at }) => ({ id, isValid: revoked_at === null }));
  const previous = { id: issued[2]?.id, isValid: false };
  assert.deepEqual(new Set(kept), new Set([previous, { id: cloud.startToken.id, isValid: true }]));
  assert.equal((await get('/v3/caller')).status, 200);
  assert.equal((await get('/v3/caller', { token: issued[2]?.token ?? '' })).status, 401);
});

test('the cloud deletes the tokens of starts of other servers that have not come back', async (t) => {
  const { store, state } = openSqlite(':memory:');
  await migrate(store);
  const secrets = new SecretBox(realRandom.bytes(secretKeyBytes), realRandom);
  const tokens = new TokenStore({ store, secrets, clock: realClock, random: realRandom });
  const issue = async (origin: string, days: number, values: Partial<TokenRow> = {}): Promise<void> => {
    const { id } = await tokens.issue({ role: 'reader', projectId: null, origin, expiresAt: null });
    const created_at = realClock.wallMs() - days * 86_400_000;
    await store
      .updateTable('tokens')
      .set({ created_at, ...values })
      .where('id', '=', id)
      .execute();
  };
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  await store
    .insertInto('clusters')
    .values(aClusterRow({ home: 'busy' }))
    .execute();
  await issue('start:gone', 91);
  await issue('start:revoked', 200, { revoked_at: realClock.wallMs() - 100 * 86_400_000 });
  await issue('start:busy', 200);
  await issue('start:used', 91, { last_used_at: realClock.wallMs() });
  await issue('start:new', 89);
  await issue('operator', 200);
  const { cloud } = await aCloud({ store, state, secrets });
  t.after(() => cloud.stop());
  assert.deepEqual((await tokens.list()).map(({ origin }) => origin).sort(), [
    'operator',
    'start:busy',
    'start:here',
    'start:new',
    'start:used',
  ]);
});

test('the cloud starts with a cloud named "local" that the operator added before the first start', async (t) => {
  const { store, state } = openSqlite(':memory:');
  await migrate(store);
  const added = { name: 'local', provider: 'gcp', region: 'r', cidr: '10.0.0.0/16' } as const;
  const { id } = await new CloudsService({ store, clock: realClock, random: realRandom }).add(added);
  const { cloud, get } = await aCloud({ store, state });
  t.after(() => cloud.stop());
  const { data } = (await get('/v2/clouds')).body;
  assert.deepEqual(
    data.map((listed: { id: string }) => listed.id),
    [id],
  );
});

test('the cloud shows operations whose kind or step only a newer version knows', async (t) => {
  const { cloud, store, clock, random, get } = await aCloud();
  t.after(() => cloud.stop());
  const operations = new OperationsStore({ store, clock, random });
  const later = {
    clusterId: random.uuid(),
    projectId: random.uuid(),
    home: 'elsewhere',
    timeLimitMs: 60_000,
  };
  const id = await operations.add(store, { ...later, kind: 'create', firstStep: 'later' });
  const shown = async () => {
    const { status, body } = await get(`/v3/operations/${id}`);
    return [status, body.kind, body.step, body.progress];
  };
  assert.deepEqual(await shown(), [200, 'create', 'later', 0]);
  await store.updateTable('operations').set({ kind: 'upgrade' }).execute();
  assert.deepEqual(await shown(), [200, 'upgrade', 'later', 0]);
});
