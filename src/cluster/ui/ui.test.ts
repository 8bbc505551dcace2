import assert from 'node:assert/strict';
import { it } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

const files = ['/ui/', '/ui', '/ui/app.js', '/ui/style.css'];

it('serves the page under a strict content policy without credentials, and redirects the root to it', async (t) => {
  const { request } = await aManager();
  t.plan(files.length * 2 + 2);
  const root = await request('/', { as: null });
  t.assert.deepEqual([root.status, root.headers.location], [301, '/ui/']);
  for (const file of files) {
    const { status, headers } = await request(file, { as: null });
    t.assert.equal(status, 200, file);
    t.assert.match(
      String(headers['content-security-policy']),
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    );
  }
  const { headers } = await request('/ui/', { as: null });
  t.assert.equal(headers['content-type'], 'text/html; charset=utf-8');
});

it('disables the page for plain connections by its setting, but not the API', async () => {
  const { request } = await aManager();
  await request('/settings/security', { form: { disableUIOverHttp: 'true' } });
  for (const file of files) {
    const { status, text } = await request(file);
    assert.deepEqual([status, text], [404, ''], file);
  }
  assert.equal((await request('/pools')).status, 200);
  await request('/settings/security/disableUIOverHttp', { method: 'DELETE' });
  assert.equal((await request('/ui/')).status, 200);
});
