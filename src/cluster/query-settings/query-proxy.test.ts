import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { recordingPort } from '../../../test/support/recording-port.ts';

const path = '/_p/query/query/service';

test('the proxy of the query service forwards a statement with the credentials of its caller, and returns the answer of the query service', async () => {
  const service = await recordingPort();
  const { request } = await aManager({
    queryPort: async () => ({ host: '127.0.0.1', port: service.port }),
  });
  try {
    const form = { statement: 'SELECT 1' };
    const headers = { cookie: 'secret=1', 'user-agent': 'console' };
    const answer = await request(`${path}?pretty=true&args=%5B1%5D`, { form, headers });
    assert.deepEqual([answer.status, answer.text], [409, '{"results":[]}']);
    assert.equal(answer.headers['content-type'], 'application/json; version=1');
    assert.equal(answer.headers['set-cookie'], undefined);
    const [{ request: sent, body } = assert.fail('nothing was forwarded')] = service.seen;
    assert.deepEqual(
      [sent.method, sent.url, body],
      ['POST', '/query/service?pretty=true&args=%5B1%5D', 'statement=SELECT+1'],
    );
    assert.equal(sent.headers.authorization, `Basic ${btoa('Administrator:password')}`);
    assert.equal(sent.headers['content-type'], 'application/x-www-form-urlencoded');
    assert.deepEqual([sent.headers['user-agent'], sent.headers.cookie], ['console', undefined]);
  } finally {
    service.close();
  }
});

test('refuses, and forwards nothing, without credentials of the caller itself or with too large a body', async () => {
  const service = await recordingPort();
  const { request } = await aManager({
    queryPort: async () => ({ host: '127.0.0.1', port: service.port }),
  });
  try {
    const raw = '{"statement":"SELECT 1"}';
    assert.equal((await request(path, { raw, as: null })).status, 401);
    const onBehalf = Buffer.from('Administrator:admin').toString('base64');
    const refused = await request(path, { raw, headers: { 'cb-on-behalf-of': onBehalf } });
    assert.deepEqual(
      [refused.status, refused.text],
      [400, 'cb-on-behalf-of is not forwarded to the query service'],
    );
    assert.equal((await request(path, { raw: ' '.repeat((8 << 20) + 1) })).status, 413);
    assert.equal(service.seen.length, 0);
    assert.equal((await request(path, { raw: ' '.repeat(8 << 20) })).status, 409);
  } finally {
    service.close();
  }
});

test('the proxy of the query service reports why if the query service does not run or answer', async () => {
  const raw = '{"statement":"SELECT 1"}';
  const without = await aManager();
  const refused = await without.request(path, { raw });
  assert.deepEqual([refused.status, refused.text], [404, 'Service query (n1ql) not running on this node']);
  const service = await recordingPort();
  service.close();
  const unavailable = await aManager({ queryPort: async () => ({ host: '127.0.0.1', port: service.port }) });
  const answer = await unavailable.request(path, { raw });
  assert.equal(answer.status, 502);
  assert.match(answer.text, /^The query service does not answer: .*ECONNREFUSED/);
});
