import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCloud } from '../../test/support/a-cloud.ts';

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
