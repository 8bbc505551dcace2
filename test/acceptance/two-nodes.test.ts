// Documents on two nodes: a bucket that is created through either node is on both, and clients reach each document on the node that has it.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Collection, DurabilityLevel } from 'couchbase';
import { Status } from '#wire/status.ts';
import { dataClient, set } from '../support/data-client.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const waitLimitMs = 240_000;
/** Enough for each node to have about half of them. */
const documents = 500;
/** Documents of a second collection. */
const airlines = 5;
const atOnce = 100;
/** Each node has about half of the documents. */
const documentsOfNodeMin = documents / 3;

interface Bucket {
  basicStats: { itemCount: number };
  quota: { ram: number; rawRAM: number };
  nodes: { hostname: string; status: string; interestingStats: { curr_items: number } }[];
}
interface BucketServer {
  stats: { uri: string };
}
interface RangeAnswer {
  data: { metric: { nodes: string[] }; values: [number, string][] }[];
  errors: object[];
}

interface BucketSamples {
  op: { samples: { curr_items: number[] } };
}
/** The terse configuration of a bucket: the short form that SDKs read, with the vbucket map. */
interface TerseBucket {
  rev: number;
  vBucketServerMap: { serverList: string[]; vBucketMap: number[][] };
}

const read = async <T>(node: NodeProcess, path: string): Promise<T> =>
  (await node.request(path)).json() as Promise<T>;

/** The ports of a node, to start it there again. */
async function portsOf(node: NodeProcess): Promise<Record<string, number>> {
  const { rest, restTls, kv, kvTls } = node.ready.node;
  const port = (address: string): number => Number(/:(\d+)$/.exec(address)?.[1]);
  const { ports } = await read<{ ports: { distTLS: number } }>(node, '/nodes/self');
  return {
    rest: port(rest),
    'rest-tls': port(restTls),
    kv: port(kv),
    'kv-tls': port(kvTls),
    'dist-tls': ports.distTLS,
  };
}

async function inBatches(run: (key: string, number: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < documents; from += atOnce)
    await Promise.all(Array.from({ length: atOnce }, (_, at) => run(`key-${from + at}`, from + at)));
}

async function writeAndRead(collection: Collection): Promise<void> {
  await inBatches((key, number) => collection.upsert(key, { number }));
  await inBatches(async (key, number) => assert.equal((await collection.get(key)).content.number, number));
}

describe('a cluster of two nodes', () => {
  let first: NodeProcess;
  let second: NodeProcess;
  /** A node that was killed and started again; its folder belongs to the process that was killed. */
  let again: NodeProcess | undefined;
  before(async () => {
    first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256'] });
    const args = ['--services', 'kv', '--join', first.ready.node.rest];
    second = await NodeProcess.start({ args });
    await eventuallyWithin(waitLimitMs, async () => {
      const { balanced, nodes } = await read<{ balanced: boolean; nodes: unknown[] }>(
        second,
        '/pools/default',
      );
      assert.deepEqual([balanced, nodes.length], [true, 2]);
    });
  });
  after(async () => {
    for (const node of [again, first, second]) await node?.[Symbol.asyncDispose]();
  });

  it('spreads a bucket over both, for the official SDK, and flushes and deletes it on both', async () => {
    const form = { name: 'b', ramQuotaMB: '100', replicaNumber: '0', flushEnabled: '1' };
    assert.equal((await second.request('/pools/default/buckets', 'POST', form)).status, 202);
    // The bucket is on both nodes when the call answers.
    for (const node of [first, second]) assert.equal(readdirSync(join(node.dataDir, 'buckets')).length, 1);

    const { vBucketServerMap } = await read<TerseBucket>(first, '/pools/default/b/b');
    assert.equal(vBucketServerMap.serverList.length, 2);
    const halfOfVbuckets = 512;
    const onOneNode = vBucketServerMap.vBucketMap.filter(([active]) => active === 0);
    assert.equal(onOneNode.length, halfOfVbuckets);

    const cluster = await connect(`couchbase://${second.ready.node.kv}`, administrator);
    try {
      const bucket = cluster.bucket('b');
      await writeAndRead(bucket.defaultCollection());
      await bucket.collections().createScope('inventory');
      await bucket.collections().createCollection('airline', 'inventory');
      const airline = bucket.scope('inventory').collection('airline');
      await eventuallyWithin(waitLimitMs, () =>
        Promise.all(Array.from({ length: airlines }, (_, number) => airline.upsert(`airline-${number}`, {}))),
      );
    } finally {
      await cluster.close();
    }
    for (const node of [first, second])
      await eventuallyWithin(waitLimitMs, async () => {
        const { basicStats, quota, nodes } = await read<Bucket>(node, '/pools/default/buckets/b');
        assert.deepEqual([basicStats.itemCount, quota.ram], [documents + airlines, 2 * quota.rawRAM]);
        assert.ok(nodes.every(({ interestingStats }) => interestingStats.curr_items > documentsOfNodeMin));
      });

    for (const node of [first, second])
      await eventuallyWithin(waitLimitMs, async () => {
        const { servers } = await read<{ servers: BucketServer[] }>(node, '/pools/default/buckets/b/nodes');
        assert.equal(servers.length, 2);
        for (const { stats } of servers) {
          const { op } = await read<BucketSamples>(node, `${stats.uri}?zoom=minute`);
          assert.ok((op.samples.curr_items.at(-1) ?? 0) > documentsOfNodeMin, stats.uri);
        }
        const { op } = await read<BucketSamples>(node, '/pools/default/buckets/b/stats');
        assert.equal(op.samples.curr_items.at(-1), documents + airlines);
        const range = '/pools/default/stats/range/kv_curr_items?bucket=b&start=-30&aggregationFunction=sum';
        const { data, errors } = await read<RangeAnswer>(node, range);
        const [sum] = data;
        assert.deepEqual([errors, sum?.metric.nodes.length], [[], 2]);
        assert.equal(sum?.values.at(-1)?.[1], String(documents + airlines));
      });

    // Over REST each node answers for all documents.
    const docs = '/pools/default/buckets/b/docs';
    for (const node of [first, second]) {
      for (const key of ['key-1', 'key-2', 'key-3', 'key-4']) {
        assert.equal((await node.request(`${docs}/${key}`)).status, 200);
        assert.equal((await node.request(`${docs}/${key}`, 'POST', { value: '{"number":0}' })).status, 200);
      }
      const { rows } = await read<{ rows: { id: string }[] }>(node, `${docs}?limit=100&include_docs=false`);
      const sorted = Array.from({ length: documents }, (_, number) => `key-${number}`).sort();
      assert.deepEqual(
        rows.map(({ id }) => id),
        sorted.slice(0, 100),
      );
    }

    // Vbucket 0 is on one of the two; the other one answers with the map.
    const request = set('k', '1');
    const clients = await Promise.all([dataClient(first), dataClient(second)]);
    const replies = await Promise.all(clients.map((client) => client.ask(request)));
    const refused = replies.find(({ status }) => status === Status.notMyVbucket);
    assert.ok(refused, 'both nodes serve the same vbucket');
    assert.ok(replies.some(({ status }) => status === Status.success));
    assert.deepEqual(
      (JSON.parse(refused.value.toString()) as TerseBucket).vBucketServerMap.serverList.length,
      2,
    );
    for (const client of clients) client.close();

    assert.equal(
      (await first.request('/pools/default/buckets/b/controller/doFlush', 'POST', {})).status,
      200,
    );
    for (const node of [first, second])
      await eventuallyWithin(waitLimitMs, async () =>
        assert.equal((await read<Bucket>(node, '/pools/default/buckets/b')).basicStats.itemCount, 0),
      );
    assert.equal((await second.request('/pools/default/buckets/b', 'DELETE')).status, 200);
    for (const node of [first, second]) assert.deepEqual(readdirSync(join(node.dataDir, 'buckets')), []);
  });

  it('keeps copies of a bucket with a replica, for durable writes and reads of the copies', async () => {
    const form = { name: 'b', ramQuotaMB: '100', replicaNumber: '1' };
    assert.equal((await second.request('/pools/default/buckets', 'POST', form)).status, 202);
    const { vBucketServerMap } = await read<TerseBucket>(first, '/pools/default/b/b');
    assert.ok(vBucketServerMap.vBucketMap.every((row) => row.toSorted().join() === '0,1'));
    const cluster = await connect(`couchbase://${first.ready.node.kv}`, administrator);
    try {
      const collection = cluster.bucket('b').defaultCollection();
      const durabilityLevel = DurabilityLevel.Majority;
      await eventuallyWithin(waitLimitMs, () => collection.upsert('first', {}, { durabilityLevel }));
      for (let number = 0; number < 100; number++)
        await eventuallyWithin(waitLimitMs, () =>
          collection.upsert(`key-${number}`, { number }, { durabilityLevel }),
        );
      const copies = await collection.getAllReplicas('key-7');
      assert.deepEqual(
        copies.map(({ content }) => content.number),
        [7, 7],
      );
      // After kill -9 and a restart of one node all documents are served, and that node takes part in durable writes again.
      const ports = await portsOf(second);
      await second.stop('SIGKILL');
      again = await NodeProcess.start({ dataDir: second.dataDir, ports });
      for (let number = 0; number < 100; number++) {
        const { content } = await eventuallyWithin(waitLimitMs, () => collection.get(`key-${number}`));
        assert.equal(content.number, number);
      }
      await eventuallyWithin(waitLimitMs, () => collection.upsert('key-1', {}, { durabilityLevel }));
      assert.ok(again.running);
    } finally {
      await cluster.close();
    }
  });

  it('lets a member find the founder that was started again on another port', async () => {
    const member = again as NodeProcess;
    await first.stop('SIGKILL');
    await using founder = await NodeProcess.start({ dataDir: first.dataDir });
    const group = (name: string) => member.request('/pools/default/serverGroups', 'POST', { name });
    await eventuallyWithin(waitLimitMs, async () =>
      assert.equal((await group('from the member')).status, 200),
    );
    const { groups } = await read<{ groups: { name: string }[] }>(founder, '/pools/default/serverGroups');
    assert.deepEqual(
      groups.map(({ name }) => name),
      ['Group 1', 'from the member'],
    );
  });
});
