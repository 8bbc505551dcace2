// Values that the node compresses in the background are unchanged for clients.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MutateInSpec, QueryScanConsistency } from 'couchbase';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const documents = 50;

test('documents of a bucket in mode active are compressed, and read, changed and queried as before', {
  timeout: 600_000,
}, async () => {
  await using node = await NodeProcess.start();
  const form = { name: 'b', ramQuotaMB: '100', replicaNumber: '0', compressionMode: 'active' };
  assert.equal((await node.request('/pools/default/buckets', 'POST', form)).status, 202);
  // The client must not send compressed values.
  const cluster = await connect(`couchbase://${node.ready.node.kv}?enable_compression=false`, administrator);
  await using closing = new AsyncDisposableStack();
  closing.defer(() => cluster.close());
  const collection = cluster.bucket('b').defaultCollection();
  const document = { n: 1, text: 'over and over again '.repeat(100) };
  await eventually(() => collection.upsert('k0', document));
  for (let at = 1; at < documents; at++) await collection.upsert(`k${at}`, document);
  await eventually(async () => {
    const text = await (await node.request('/metrics')).text();
    const [, count] = /^kv_ep_item_compressor_num_compressed\{bucket="b"\} (\d+)$/m.exec(text) ?? [];
    assert.ok(Number(count) >= documents, `${count} values are compressed`);
  });
  assert.deepEqual((await collection.get('k1')).content, document);
  await collection.mutateIn('k2', [MutateInSpec.replace('n', 2)]);
  assert.deepEqual((await collection.get('k2')).content, { ...document, n: 2 });
  const { rows } = await cluster.query('SELECT COUNT(*) AS c FROM b WHERE n = 1 AND text LIKE "over%"', {
    scanConsistency: QueryScanConsistency.RequestPlus,
  });
  assert.deepEqual(rows, [{ c: documents - 1 }]);
  const off = await node.request('/pools/default/buckets/b', 'POST', { compressionMode: 'off' });
  assert.equal(off.status, 200);
  assert.deepEqual((await collection.get('k4')).content, document);
});
