import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aQueryService, originOf } from '../../../test/support/query-service.ts';
import { openSession } from '../access/session.ts';
import { RequestCatalog } from './request-catalog.ts';

test('rows of users fail with a reason when the administration API refuses them', async () => {
  const { service } = aQueryService();
  service.deps.rest.request = async () => ({ status: 503, body: '' });
  const session = await openSession(service.deps.authority, originOf('admin', 'password'), []);
  const read = async () => {
    for await (const _rows of new RequestCatalog(service, session).scan('user_info'));
  };
  await assert.rejects(read, (error: { code?: number; message: string }) => {
    assert.equal(error.code, 11000);
    assert.match(error.message, /the administration API answered 503/);
    return true;
  });
});
