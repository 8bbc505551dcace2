import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

test('the node serves the manual to clients without credentials, before the node is provisioned too', async () => {
  const { request, manager } = await aManager({ provisioned: false });
  const get = (url: string) => request(url, { as: null });
  const first = await get('/docs/');
  const page = await get('/docs/guides/query');
  const found = await get('/docs/search?q=covering');
  const missing = await get('/docs/guides/none');
  const same = await get('/docs');
  const image = await get('/docs/images/console-query.webp');
  const noImage = await get('/docs/images/none.webp');
  await manager.stop();
  assert.equal(first.status, 200);
  assert.equal(first.headers['content-type'], 'text/html; charset=utf-8');
  assert.match(String(first.headers['content-security-policy']), /^default-src 'none'; style-src 'sha256-/);
  assert.match(page.text, /<h1 id="/);
  assert.match(found.text, /<a href="\/docs\/guides\/query#/);
  assert.equal(missing.status, 404);
  assert.match(missing.text, /No such page/);
  assert.equal(same.text, first.text);
  assert.deepEqual([image.status, image.headers['content-type']], [200, 'image/webp']);
  assert.deepEqual([noImage.status, noImage.headers['content-type']], [404, first.headers['content-type']]);
});
