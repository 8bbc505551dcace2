import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

test('the node refuses calls of published tools for missing features with the reason', async () => {
  const { request, manager } = await aManager();
  for (const [method, path, reason] of [
    ['POST', '/settings/analytics', /analytics service/],
    ['GET', '/settings/saslauthdAuth', /saslauthd .* LDAP/],
  ] as const) {
    const answer = await request(path, { method });
    assert.equal(answer.status, 501, path);
    assert.match(answer.text, reason);
    assert.equal((await request(path, { method, as: null })).status, 401, path);
  }
  await manager.stop();
});

test('the node lists scrape targets for Prometheus in YAML at the published path', async () => {
  const { request, manager } = await aManager();
  const { status, text, headers } = await request('/prometheus_sd_config.yaml');
  assert.equal(status, 200);
  assert.match(text, /^- targets:\n {2}- '.*:\d+'\n$/);
  assert.match(String(headers['content-type']), /^text\/yaml/);
  await manager.stop();
});
