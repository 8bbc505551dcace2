import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SecretBox, secretKeyBytes } from '#auth/secret-box.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { startCloud } from './cloud.ts';
import type { Provisioner } from './provisioner/provisioner.ts';
import { migrate } from './store/migrations.ts';
import { openSqlite } from './store/sqlite.adapter.ts';

/** Where nothing is ever to run. */
const nowhere = { kept: () => Promise.resolve([]), close: () => Promise.resolve() } as unknown as Provisioner;

async function aCloud() {
  const store = openSqlite(':memory:');
  await migrate(store);
  const errors: string[] = [];
  const cloud = await startCloud({
    store,
    secrets: new SecretBox(realRandom.bytes(secretKeyBytes), realRandom),
    provisioner: nowhere,
    home: 'here',
    operatorAddress: undefined,
    capacityMb: 1_024,
    sizeScale: 1,
    requestsPerSecond: 1_000,
    version: '0.0.0',
    clock: realClock,
    random: realRandom,
    log: { ...silentLog, error: (event) => errors.push(event) },
  });
  return { store, cloud, errors };
}

test('answers 500 without details for every operation once its database is closed', async () => {
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
