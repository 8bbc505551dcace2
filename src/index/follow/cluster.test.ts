// An index on one node over a bucket whose vbuckets are on two.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterBucketClient } from '#client/cluster-bucket-client.ts';
import { vbucketOf } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import { type DataNode, DataNodes } from '../../../test/support/data-nodes.ts';
import { TestIndexes } from '../../../test/support/index-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { storing } from '../../../test/support/storing.ts';

/** Id of the collection `orders`. */
const orders = 8;
const count = 300;
const shardCount = 64;
const writing = (key: string, n: number) => storing(key, JSON.stringify({ n }));

test('an index has the documents of both nodes, follows a vbucket that moves, and removes rows of documents that were lost', async () => {
  await using nodes = await DataNodes.start();
  const [first] = nodes.nodes as [DataNode];
  const client = await ClusterBucketClient.openAll({
    ...nodes.accessOf(),
    routes: nodes.routes(),
    clock: realClock,
  });
  await client.storeMany(
    orders,
    Array.from({ length: count }, (_, n) => writing(`d${n}`, n)),
  );
  await using indexes = new TestIndexes(first.port);
  const byN = aDefinition(['`n`']);
  const follow = () => indexes.service.followCluster(nodes.stateOf(first));
  await follow();
  await indexes.want(byN);
  await indexes.online(byN);
  assert.equal(indexes.reportOf(byN)?.rows, count);
  await client.storeMany(orders, [writing('later 1', 1), writing('later 2', 2), writing('later 3', 3)]);
  await indexes.caughtUp(client, byN);
  assert.equal(indexes.reportOf(byN)?.rows, count + 3);

  // The shard starts empty on the other node: its documents are lost, and the index must remove them.
  const movedShard = 1;
  const inShard = (key: string) => vbucketOf(key) % shardCount === movedShard;
  const lost = Array.from({ length: count }, (_, n) => `d${n}`).filter(inShard).length;
  const laterCount = [1, 2, 3].filter((n) => inShard(`later ${n}`)).length;
  await nodes.move(movedShard, 'a');
  await follow();
  await eventually(() => assert.equal(indexes.reportOf(byN)?.rows, count + 3 - lost - laterCount));
  const key = Array.from({ length: 1000 }, (_, n) => `new ${n}`).find(inShard) as string;
  await client.storeMany(orders, [writing(key, 1)]);
  await indexes.caughtUp(client, byN);
  assert.equal(indexes.reportOf(byN)?.rows, count + 4 - lost - laterCount);
  await indexes.online(byN);
  client.close();
});

test('a node that is no longer the only one opens streams to the others', async () => {
  await using nodes = await DataNodes.start();
  const [first] = nodes.nodes as [DataNode];
  await using indexes = new TestIndexes(first.port);
  const client = await ClusterBucketClient.openAll({
    ...nodes.accessOf(),
    routes: nodes.routes(),
    clock: realClock,
  });
  await client.storeMany(
    orders,
    Array.from({ length: count }, (_, n) => writing(`d${n}`, n)),
  );
  const byN = aDefinition(['`n`']);
  await indexes.want(byN);
  await indexes.service.followCluster(nodes.stateOf(first));
  await indexes.online(byN);
  await indexes.caughtUp(client, byN);
  assert.equal(indexes.reportOf(byN)?.rows, count);
  client.close();
});
