import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { aCloud } from '../../../test/support/a-cloud.ts';

test('the cloud serves the console at the root, with the scripts that it names, and no other files', async (t) => {
  const { cloud } = await aCloud();
  t.after(() => cloud.stop());
  const get = (url: string, headers = {}) => cloud.api.inject({ url, headers });
  const page = await get('/');
  assert.equal(page.statusCode, 200);
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  assert.match(
    String(page.headers['content-security-policy']),
    /default-src 'none'.*require-trusted-types-for/,
  );
  const script = /\/ui\/assets\/[\w-]+\.js/.exec(page.body)?.[0] ?? '';
  const plain = await get(script);
  assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8');
  const compressed = await get(script, { 'accept-encoding': 'gzip' });
  assert.equal(compressed.headers['content-encoding'], 'gzip');
  assert.deepEqual(gunzipSync(compressed.rawPayload), plain.rawPayload);
  const encodingFor = async (accepted: string) =>
    (await get(script, { 'accept-encoding': accepted })).headers['content-encoding'];
  for (const refused of ['gzip;q=0', 'br, gzip; q=0.0', 'x-gzip', 'br'])
    assert.equal(await encodingFor(refused), undefined, refused);
  for (const accepted of ['gzip;q=0.5', 'br,gzip', 'GZIP ; q=1, br'])
    assert.equal(await encodingFor(accepted), 'gzip', accepted);
  for (const name of ['..%2f..%2f..%2fpackage.json', 'cloud.html', '.js', 'a.js.gz', 'none.js']) {
    const { statusCode, body } = await get(`/ui/assets/${name}`);
    assert.deepEqual([statusCode, JSON.parse(body).errorType], [404, 'NotFound'], name);
  }
});
