// Three nodes: one that runs is failed over, and the node that was promoted in its place is killed before it has taken the shards over. The
// failed-over node is recovered, and has the documents.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { portNumber } from '../support/addresses.ts';
import { dataClient, get, majority, set } from '../support/data-client.ts';
import { joinNodes, rebalance } from '../support/join-nodes.ts';
import type { KvConnection } from '../support/kv-connection.ts';
import { eventuallyWithin, NodeProcess } from '../support/node-process.ts';

const waitLimitMs = 240_000;
/** More than enough to detect shards that are served empty; all others would only take time. */
const vbucketsMax = 40;

interface Bucket {
  nodes: { replication: number }[];
  vBucketServerMap: { vBucketMap: number[][]; serverList: string[] };
}

const read = async <T>(node: NodeProcess, path: string): Promise<T> =>
  (await node.request(path)).json() as Promise<T>;
const startUnprovisioned = () => NodeProcess.start({ unprovisioned: true, args: ['--services', 'kv'] });

async function post(node: NodeProcess, path: string, form: Record<string, string>): Promise<void> {
  const answer = await node.request(path, 'POST', form);
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.text()}`);
}

async function placementOf(node: NodeProcess) {
  const { vBucketServerMap } = await read<Bucket>(node, '/pools/default/buckets/b');
  const { serverList, vBucketMap } = vBucketServerMap;
  const indexOf = ({ ready }: NodeProcess): number =>
    serverList.findIndex((address) => portNumber(address) === portNumber(ready.node.kv));
  return { indexOf, vBucketMap };
}

test('a node that is failed over while it runs serves its documents after a recovery, though its successor was killed', {
  timeout: 600_000,
}, async () => {
  await using first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256'] });
  await using second = await startUnprovisioned();
  await using third = await startUnprovisioned();
  await joinNodes(first, [second, third]);
  await post(first, '/pools/default/buckets', { name: 'b', ramQuotaMB: '100', replicaNumber: '1' });
  await eventuallyWithin(waitLimitMs, async () => {
    const { nodes } = await read<Bucket>(first, '/pools/default/buckets/b');
    assert.deepEqual(
      nodes.map(({ replication }) => replication),
      [1, 1, 1],
    );
  });
  const { indexOf, vBucketMap } = await placementOf(first);
  const vbs = vBucketMap
    .flatMap(([active, copy], vb) => (active === indexOf(third) && copy === indexOf(second) ? [vb] : []))
    .slice(0, vbucketsMax);
  assert.equal(vbs.length, vbucketsMax);
  const client = await dataClient(third);
  for (const vb of vbs) {
    const { status } = await client.ask(set('k', `value ${vb}`, { vb, framing: majority }));
    assert.equal(status, Status.success);
  }
  client.close();
  const { nodes } = await read<{
    nodes: { otpNode: string; hostname: string; ports: Record<string, number> }[];
  }>(first, '/pools/default');
  const nodeOf = ({ ready }: NodeProcess) =>
    nodes.find(({ hostname }) => portNumber(hostname) === portNumber(ready.node.rest)) ?? assert.fail();
  const { otpNode } = nodeOf(third);

  // The second node is promoted while it is suspended: it cannot confirm that it serves the shards, so their in-sync sets still have the third node with its present boot id.
  process.kill(second.pid, 'SIGSTOP');
  await post(first, '/controller/failOver', { otpNode });
  await second.stop('SIGKILL');
  await post(first, '/controller/setRecoveryType', { otpNode, recoveryType: 'delta' });
  const { kv, kvTls, rest, restTls } = second.ready.node;
  await using again = await NodeProcess.start({
    dataDir: second.dataDir,
    ports: {
      rest: portNumber(rest),
      kv: portNumber(kv),
      'rest-tls': portNumber(restTls),
      'kv-tls': portNumber(kvTls),
      'dist-tls': nodeOf(second).ports['distTLS'] ?? 0,
    },
  });
  await rebalance(first);
  const placement = await placementOf(first);
  const clients = new Map<NodeProcess, KvConnection>();
  for (const node of [first, again, third]) clients.set(node, await dataClient(node));
  for (const vb of vbs) {
    const active = [first, again, third].find(
      (node) => placement.indexOf(node) === placement.vBucketMap[vb]?.[0],
    );
    await eventuallyWithin(waitLimitMs, async () => {
      const answer = await clients.get(active as NodeProcess)?.ask(get('k', { vb }));
      assert.notEqual(answer?.status, Status.notMyVbucket);
      assert.deepEqual([vb, answer?.status, answer?.value.toString()], [vb, Status.success, `value ${vb}`]);
    });
  }
  for (const connection of clients.values()) connection.close();
});
