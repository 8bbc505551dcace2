// A client of a bucket that is spread over two data services.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { nodeDataProtocol } from '#base/node-uri.ts';
import { realClock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import { type DataNode, DataNodes } from '../../test/support/data-nodes.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { aNodeAuthority } from '../../test/support/node-authority.ts';
import { eventually } from '../../test/support/node-process.ts';
import { Relay } from '../../test/support/relay.ts';
import { storing } from '../../test/support/storing.ts';
import { BucketClient, type PartialReplies } from './bucket-client.ts';
import { ClusterBucketClient } from './cluster-bucket-client.ts';
import { addressOfNode, ClusterRoutes } from './cluster-routes.ts';
import { DataPortError, UnsentError } from './data-port-error.ts';
import { vbucketOf } from './document-key.ts';
import { WireConnection } from './wire-connection.adapter.ts';

/** Id of the collection `orders`. */
const orders = 8;
const count = 500;
const keys = Array.from({ length: count }, (_, n) => `key-${n}`);
const writing = (key: string, text = `"${key}"`) => storing(key, text);

const clientOf = (nodes: DataNodes, routes = nodes.routes()): Promise<ClusterBucketClient> =>
  ClusterBucketClient.openAll({ ...nodes.accessOf(), routes, clock: realClock });

test('documents, seqnos and histories of two nodes are read, written and counted as if the nodes were one', async () => {
  await using nodes = await DataNodes.start();
  const client = await clientOf(nodes);
  const replies = await client.storeMany(
    orders,
    keys.map((key) => writing(key)),
  );
  assert.ok(replies.every(({ status }) => status === Status.success));
  const found = await client.getMany(orders, [...keys, 'missing']);
  assert.equal(found.pop(), Status.keyNotFound);
  assert.deepEqual(
    found.map((document) => typeof document === 'object' && document.value.toString()),
    keys.map((key) => `"${key}"`),
  );
  assert.equal(await client.itemCount(orders), count);
  for (const node of nodes.nodes) {
    const single = await BucketClient.open(nodes.accessOf(node));
    assert.ok((await single.itemCount(orders)) > count / 4, 'each node has a share');
    single.close();
  }
  const seqnos = await client.highSeqnos(orders);
  for (const { token } of replies) {
    assert.ok(token);
    assert.ok((seqnos[token.vb] as number) >= token.seqno, `vbucket ${token.vb}`);
  }
  const uuids = await client.uuids();
  assert.ok(!uuids.includes(0n));
  const logs = await client.failoverLogs([0, 1, 2, 3]);
  for (const [vb, [newest]] of logs) assert.equal(newest?.uuid, uuids[vb]);
  client.close();
  await assert.rejects(client.getMany(orders, ['key-1']), DataPortError);
});

test('a node gives no seqno for a vbucket that the map has there, but that is not active yet', async () => {
  await using nodes = await DataNodes.start();
  const second = nodes.nodes[1] as DataNode;
  const client = await BucketClient.open(nodes.accessOf(second));
  assert.ok((await client.highSeqnosOf([1])).has(1));
  await nodes.nameTooEarly(0, second.id);
  await eventually(async () => {
    const { vbuckets } = (await second.service.report()).buckets[0] ?? {};
    assert.ok((vbuckets?.pending.vbuckets ?? 0) > 0);
  });
  assert.equal((await client.failoverLogs([0])).size, 1, 'the node has no history of the vbucket');
  await assert.rejects(client.highSeqnosOf([0, 1]), { status: Status.notMyVbucket });
  client.close();
});

test('the client follows a vbucket to the node that the map names', async () => {
  await using nodes = await DataNodes.start();
  const client = await clientOf(nodes);
  const key = keys.find((candidate) => vbucketOf(candidate) % 64 === 1) as string;
  const histories = await client.historyDigest();
  await client.storeMany(orders, [writing(key)]);
  await nodes.move(1, 'a');
  // The write succeeds also while only one of the two nodes knows of the move.
  const [reply] = await client.storeMany(orders, [writing(key, '2')]);
  assert.equal(reply?.status, Status.success);
  const sender = await BucketClient.open(nodes.accessOf());
  await eventually(async () => assert.equal(typeof (await sender.getMany(orders, [key]))[0], 'object'));
  assert.notEqual(await client.historyDigest(), histories);
  sender.close();
  client.close();
});

test('all seqnos are read although at no time all vbuckets are served', async () => {
  await using nodes = await DataNodes.start();
  const state = nodes.stateOf(nodes.nodes[0] as DataNode);
  const without = (shard: number) => ({
    ...state,
    actives: { b: (state.actives['b'] ?? []).map((node, at) => (at === shard ? null : node)) },
  });
  const routes = new ClusterRoutes(without(1));
  const client = await clientOf(nodes, routes);
  const changingRoutes = setInterval(() => routes.set(without(routes.revision % 2)), 30);
  try {
    const seqnos = await client.highSeqnos(orders);
    assert.deepEqual([seqnos.length, seqnos.includes(-1)], [1024, false]);
  } finally {
    clearInterval(changingRoutes);
  }
  client.close();
});

test('requests fail for the documents of a node that is down, and not for the others', async () => {
  await using nodes = await DataNodes.start();
  const client = await clientOf(nodes);
  const [onFirst, onSecond] = [0, 1].map(
    (shard) => keys.find((key) => vbucketOf(key) % 64 === shard) as string,
  );
  await client.storeMany(orders, [writing(onFirst as string), writing(onSecond as string)]);
  const [, second] = nodes.nodes as [DataNode, DataNode];
  await second.service.stop();
  nodes.nodes.pop();
  await assert.rejects(client.getMany(orders, [onFirst as string, onSecond as string]), DataPortError);
  await assert.rejects(client.highSeqnos(orders), DataPortError);
  await assert.rejects(client.itemCount(orders), DataPortError);
  assert.equal(typeof (await client.getMany(orders, [onFirst as string]))[0], 'object');
  const replies: PartialReplies = [];
  const changes = [onFirst, onSecond].map((key) => writing(key as string, '2'));
  await assert.rejects(client.storeMany(orders, changes, undefined, replies), UnsentError);
  assert.deepEqual(replies, []);
  const [first] = await client.getMany(orders, [onFirst as string]);
  assert.equal(typeof first === 'object' && first.value.toString(), `"${onFirst}"`, 'no write was sent');
  const [reply] = await client.storeMany(orders, [writing(onFirst as string, '2')]);
  assert.equal(reply?.status, Status.success);
  client.close();
  await assert.rejects(client.storeMany(orders, changes), UnsentError);
});

/** Two nodes, of which the second is reached over a relay; `fail` gives all vbuckets to the first one, `recover` gives the second one its vbuckets back. */
async function withRelay() {
  const nodes = await DataNodes.start();
  const [first, second] = nodes.nodes as [DataNode, DataNode];
  const relay = await Relay.open(second.replicationPort);
  const state = {
    ...nodes.stateOf(first),
    nodes: [{ node: second.id, host: '127.0.0.1', port: relay.port }],
  };
  const routes = new ClusterRoutes(state);
  const clock = new ManualClock();
  const client = await ClusterBucketClient.openAll({ ...nodes.accessOf(), routes, clock });
  const onSecond = keys.find((key) => vbucketOf(key) % 64 === 1) as string;
  const shards = state.actives['b'] ?? [];
  return {
    client,
    clock,
    relay,
    onSecond,
    fail: () => routes.set({ ...state, actives: { b: shards.map(() => first.id) } }),
    recover: () => routes.set(state),
    [Symbol.asyncDispose]: async () => {
      client.close();
      await relay[Symbol.asyncDispose]();
      await nodes[Symbol.asyncDispose]();
    },
  };
}

/** Runs the event loop until the bytes that sockets of this process have sent to each other are received. */
async function arrivals(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test('requests under way to a node that hangs fail three seconds after it has lost all vbuckets', async () => {
  await using parts = await withRelay();
  const { client, clock, relay, onSecond, fail } = parts;
  await client.storeMany(orders, [writing(onSecond)]);
  relay.hang();
  const failures: unknown[] = [];
  const reading = client.getMany(orders, [onSecond]).catch((error: unknown) => failures.push(error));
  const writes = assert.rejects(client.storeMany(orders, [writing(onSecond)]), DataPortError);
  clock.advance(60_000);
  fail();
  clock.advance(2_999);
  await arrivals();
  assert.equal(failures.length, 0);
  clock.advance(1);
  await Promise.all([reading, writes]);
  assert.ok(failures[0] instanceof DataPortError);
});

test('a node without vbuckets that answers within three seconds has three more for the requests that remain', async () => {
  await using parts = await withRelay();
  const { client, clock, relay, onSecond, fail, recover } = parts;
  const failures: unknown[] = [];
  await client.storeMany(orders, [writing(onSecond)]);
  relay.hang();
  const answered = client.getMany(orders, [onSecond]);
  fail();
  clock.advance(1_000);
  relay.resume();
  await answered;
  relay.hang();
  recover();
  const unanswered = client.getMany(orders, [onSecond]).catch((error: unknown) => failures.push(error));
  fail();
  clock.advance(4_999);
  await arrivals();
  assert.equal(failures.length, 0);
  clock.advance(1);
  await unanswered;
  assert.ok(failures[0] instanceof DataPortError);
});

test('a node that has vbuckets again after three seconds keeps its connection', async () => {
  await using parts = await withRelay();
  const { client, clock, relay, onSecond, fail, recover } = parts;
  await client.storeMany(orders, [writing(onSecond)]);
  relay.hang();
  const reading = client.getMany(orders, [onSecond]);
  fail();
  clock.advance(2_999);
  recover();
  clock.advance(60_000);
  relay.resume();
  assert.equal(typeof (await reading)[0], 'object');
  assert.equal(relay.connections, 1);
});

test('a node that has answered all requests keeps its connection when it loses its vbuckets', async () => {
  await using parts = await withRelay();
  const { client, clock, relay, onSecond, fail } = parts;
  await client.storeMany(orders, [writing(onSecond)]);
  const reading = client.getMany(orders, [onSecond]);
  fail();
  const [found] = await reading;
  assert.equal(typeof found, 'object');
  clock.advance(60_000);
  await arrivals();
  assert.equal(relay.connections, 1);
});

test('writes to a node that cannot be connected in time are reported as not sent', async () => {
  await using parts = await withRelay();
  const { client, relay, onSecond } = parts;
  relay.hang();
  const ending = new AbortController();
  const writes = client.storeMany(orders, [writing(onSecond)], ending.signal);
  ending.abort(new Error('no answer in time'));
  await assert.rejects(writes, UnsentError);
});

test('the replication port serves only nodes of the cluster, and no client can log in with their account', async () => {
  await using nodes = await DataNodes.start();
  const [first, second] = nodes.nodes as [DataNode, DataNode];
  const routes = nodes.routes();
  const address = addressOfNode(routes, second.id);
  assert.ok(address);
  const open = async (tls: typeof routes.tls) => {
    const connection = await WireConnection.open({ ...address, node: { id: second.id, tls } });
    try {
      await connection.hello([]);
      return await connection.selectBucket('b');
    } finally {
      connection.close();
    }
  };
  assert.equal(await open(routes.tls), Status.success);
  // A certificate of the cluster's authority that names no node of it: that of a node that was removed.
  await assert.rejects(open(await nodes.issue('x')), DataPortError);
  const foreign = await (await aNodeAuthority())('a');
  await assert.rejects(open({ ...foreign, authority: routes.tls.authority }), DataPortError);
  await assert.rejects(open({ ...routes.tls, authority: foreign.authority }), DataPortError);
  const named = { ...address, node: { id: first.id, tls: routes.tls } };
  await assert.rejects(WireConnection.open(named), /does not name node a/);
  const bare = connect({
    port: second.replicationPort,
    ALPNProtocols: [nodeDataProtocol],
    rejectUnauthorized: false,
  });
  await new Promise((resolve) => bare.once('close', resolve).on('error', () => {}));
  for (const password of ['', 'password', 'node certificate']) {
    const plain = await WireConnection.open(nodes.accessOf(second).address);
    await assert.rejects(plain.authenticate({ username: '@divan-nodes', password }), /authError/);
    plain.close();
  }
});
