// Two nodes that have each other's copies: what `majority` acknowledged is on both.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { portNumber } from '../support/addresses.ts';
import { dataClient, get, majority, set } from '../support/data-client.ts';
import { joinNodes } from '../support/join-nodes.ts';
import type { KvConnection } from '../support/kv-connection.ts';
import { eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { Opcode } from '../support/opcodes.ts';

const waitLimitMs = 240_000;
/** The default port for replication. */
const replicationPort = 21_200;

/** The terse configuration of a bucket: the short form that SDKs read, with the vbucket map. */
interface TerseBucket {
  vBucketServerMap: { vBucketMap: number[][]; serverList: string[] };
}

interface Pool {
  nodes: { ports: { direct: number; distTLS: number } }[];
}

/** Repeats the request until it is answered with the status. */
const answered = (client: KvConnection, request: RequestParts, expected: Status): Promise<void> =>
  eventuallyWithin(waitLimitMs, async () => {
    const { status } = await client.ask(request);
    assert.equal(status, expected);
  });

/** A program that has the default port, unless a node on this machine has it already. */
const other = createServer();
let first: NodeProcess;
let second: NodeProcess;
before(async () => {
  other.listen(replicationPort, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve).once('error', resolve));
  const args = ['--services', 'kv', '--memory-quota', '256'];
  first = await NodeProcess.start({ args, ports: { replication: replicationPort } });
  second = await NodeProcess.start({ unprovisioned: true, args: ['--services', 'kv'] });
  await joinNodes(first, [second]);
});
after(async () => {
  other.close();
  for (const node of [first, second]) await node?.[Symbol.asyncDispose]();
});

test('a node starts although another program has the default port for replication', () => {
  assert.notEqual(first.ready.node.kv, '');
});

test('majority writes are possible after their bucket was created or flushed', async () => {
  const name = 'a';
  const bucket = { name, ramQuotaMB: '100', replicaNumber: '1', flushEnabled: '1' };
  const write = async (): Promise<void> => {
    const { vBucketServerMap } = (await (
      await first.request(`/pools/default/b/${name}`)
    ).json()) as TerseBucket;
    const { serverList, vBucketMap } = vBucketServerMap;
    const ownIndex = serverList.findIndex(
      (address) => portNumber(address) === portNumber(first.ready.node.kv),
    );
    const client = await dataClient(first, name);
    const vbs = vBucketMap.flatMap(([active], vb) => (active === ownIndex ? [vb] : []));
    // Repeated, since a copy that a busy machine stalls is out of sync for a while.
    // src/cluster/buckets/copies-in-sync.test.ts tests that a bucket is created and flushed only once its copies are in sync.
    for (const vb of vbs) await answered(client, set('k', 'one', { vb, framing: majority }), Status.success);
    client.close();
  };
  assert.equal((await first.request('/pools/default/buckets', 'POST', bucket)).status, 202);
  await write();
  const flush = `/pools/default/buckets/${name}/controller/doFlush`;
  assert.equal((await first.request(flush, 'POST', {})).status, 200);
  await write();
  assert.equal((await first.request(`/pools/default/buckets/${name}`, 'DELETE')).status, 200);
});

test('a majority write reaches the copy, is impossible while its node is down, and possible after the restart', async () => {
  const bucket = { name: 'c', ramQuotaMB: '100', replicaNumber: '1' };
  assert.equal((await first.request('/pools/default/buckets', 'POST', bucket)).status, 202);
  const { vBucketServerMap } = (await (await first.request('/pools/default/b/c')).json()) as TerseBucket;
  const { serverList, vBucketMap } = vBucketServerMap;
  const firstIndex = serverList.findIndex(
    (address) => portNumber(address) === portNumber(first.ready.node.kv),
  );
  // The active copy of this vbucket is on the founder, which stores the configuration.
  const vb = vBucketMap.findIndex(([active]) => active === firstIndex);
  const durable = (name: string): RequestParts => set(name, 'one', { vb, framing: majority });
  const [client, other] = [await dataClient(first, 'c'), await dataClient(second, 'c')];
  await answered(client, durable('k'), Status.success);
  const copied = await other.ask({ ...get('k', { vb }), opcode: Opcode.getReplica });
  assert.deepEqual([copied.status, copied.value.toString()], [Status.success, 'one']);
  other.close();

  const { nodes } = (await (await first.request('/pools/default')).json()) as Pool;
  const portsOf = ({ ready }: NodeProcess) => {
    const { kv, kvTls, rest, restTls } = ready.node;
    const { distTLS } = nodes.find(({ ports }) => ports.direct === portNumber(kv))?.ports ?? {};
    const tls = { 'rest-tls': portNumber(restTls), 'kv-tls': portNumber(kvTls), 'dist-tls': distTLS ?? 0 };
    return { rest: portNumber(rest), kv: portNumber(kv), ...tls };
  };
  await second.stop('SIGKILL');
  await answered(client, durable('without a copy'), Status.durabilityImpossible);
  assert.equal((await client.ask(set('plain', 'two', { vb }))).status, Status.success);
  await using again = await NodeProcess.start({ dataDir: second.dataDir, ports: portsOf(second) });
  await answered(client, durable('back'), Status.success);
  const back = await dataClient(again, 'c');
  for (const [name, value] of [
    ['k', 'one'],
    ['plain', 'two'],
    ['back', 'one'],
  ] as const) {
    const { status, value: found } = await back.ask({ ...get(name, { vb }), opcode: Opcode.getReplica });
    assert.deepEqual([name, status, found.toString()], [name, Status.success, value]);
  }
  client.close();
  back.close();

  // After clean stops of both nodes the active continues before its copy is back.
  await again.stop('SIGTERM');
  await first.stop('SIGTERM');
  await using alone = await NodeProcess.start({ dataDir: first.dataDir, ports: portsOf(first) });
  const later = await dataClient(alone, 'c');
  await answered(later, get('back', { vb }), Status.success);
  later.close();
});
