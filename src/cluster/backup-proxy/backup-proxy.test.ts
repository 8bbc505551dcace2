import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { recordingPort } from '../../../test/support/recording-port.ts';

const planPath = '/_p/backup/api/v1/plan/nightly';

test('the proxy of the backup service forwards each method with its body, the query and the credentials of its caller', async () => {
  const service = await recordingPort();
  const { request } = await aManager({
    backupPort: async () => ({ host: '127.0.0.1', port: service.port }),
  });
  try {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      const hasBody = method !== 'GET' && method !== 'DELETE';
      const answer = await request(`${planPath}?remove_repository=True`, {
        method,
        headers: { cookie: 'secret=1' },
        ...(hasBody && { raw: '{"tasks":[]}' }),
      });
      // The answer of `recordingPort`.
      assert.deepEqual([answer.status, answer.text], [409, '{"results":[]}'], method);
      assert.equal(answer.headers['content-type'], 'application/json; version=1');
      assert.equal(answer.headers['set-cookie'], undefined);
      const { request: sent, body } = service.seen.at(-1) ?? assert.fail('nothing was forwarded');
      const path = '/api/v1/plan/nightly?remove_repository=True';
      assert.deepEqual([sent.method, sent.url, body], [method, path, hasBody ? '{"tasks":[]}' : '']);
      assert.equal(sent.headers.authorization, `Basic ${btoa('Administrator:password')}`);
      assert.equal(sent.headers.cookie, undefined);
    }
    await request('/_p/backup/api/v1/plan/a%20b%3Fc');
    assert.equal(service.seen.at(-1)?.request.url, '/api/v1/plan/a%20b%3Fc');
  } finally {
    service.close();
  }
});

test('refuses, and forwards nothing, without credentials, on behalf of another user, or with too large a body', async () => {
  const service = await recordingPort();
  const { request } = await aManager({
    backupPort: async () => ({ host: '127.0.0.1', port: service.port }),
  });
  try {
    assert.equal((await request(planPath, { as: null })).status, 401);
    const onBehalf = Buffer.from('Administrator:admin').toString('base64');
    const refused = await request(planPath, { headers: { 'cb-on-behalf-of': onBehalf } });
    assert.deepEqual(
      [refused.status, refused.text],
      [400, 'cb-on-behalf-of is not forwarded to the backup service'],
    );
    const large = { method: 'POST', raw: ' '.repeat((4 << 20) + 1) } as const;
    assert.equal((await request(planPath, large)).status, 413);
    assert.equal(service.seen.length, 0);
  } finally {
    service.close();
  }
});

test('the proxy of the backup service reports why if the backup service does not run or answer', async () => {
  const without = await (await aManager()).request(planPath);
  assert.deepEqual([without.status, without.text], [404, 'Service backup not running on this node']);
  const service = await recordingPort();
  service.close();
  const unavailable = await aManager({ backupPort: async () => ({ host: '127.0.0.1', port: service.port }) });
  const answer = await unavailable.request(planPath);
  assert.equal(answer.status, 502);
  assert.match(answer.text, /^The backup service does not answer: .*ECONNREFUSED/);
});
