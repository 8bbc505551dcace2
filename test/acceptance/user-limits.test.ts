// Limits of users and scopes, as reported by the official SDK.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QuotaLimitedError, RateLimitedError } from 'couchbase';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

test('the SDK reports rate limits of operations and queries, and full scopes', {
  timeout: 600_000,
}, async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  const send = async (method: string, path: string, form: Record<string, string>) =>
    assert.equal((await node.request(path, method, form)).status, 200, path);
  const put = (limits: unknown) =>
    send('PUT', '/settings/rbac/users/local/app', {
      password: 'app-password',
      roles: 'admin',
      limits: JSON.stringify(limits),
    });
  await put({});
  await send('POST', '/internalSettings', { enforceLimits: 'true' });
  const limits = JSON.stringify({ clusterManager: { num_collections: 1 }, index: { num_indexes: 1 } });
  await send('POST', '/pools/default/buckets/b/scopes', { name: 's', limits });
  await using disposed = new AsyncDisposableStack();
  const cluster = await connect(`couchbase://${node.ready.node.kv}`, {
    username: 'app',
    password: 'app-password',
  });
  disposed.defer(() => cluster.close());
  const collections = cluster.bucket('b').collections();
  await collections.createCollection('one', 's');
  await assert.rejects(collections.createCollection('two', 's'), QuotaLimitedError);
  const scope = cluster.bucket('b').scope('s');
  await eventually(() => scope.query('CREATE INDEX i1 ON one(a)'));
  await assert.rejects(scope.query('CREATE INDEX i2 ON one(b)'), QuotaLimitedError);

  const collection = cluster.bucket('b').defaultCollection();
  await collection.upsert('k', {});
  await put({ kv: { num_ops_per_min: 5 }, query: { num_queries_per_min: 2 } });
  await eventually(() => assert.rejects(collection.get('k'), RateLimitedError));
  await eventually(() => assert.rejects(cluster.query('SELECT 1'), RateLimitedError));
  await put({});
  await eventually(() => collection.get('k'));
  await eventually(() => cluster.query('SELECT 1'));
});
