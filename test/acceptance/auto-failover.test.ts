// Automatic failover: one of three nodes is killed, and the others serve its shards without a request of an administrator.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { portNumber } from '../support/addresses.ts';
import { dataClient, get, majority, set } from '../support/data-client.ts';
import { joinNodes } from '../support/join-nodes.ts';
import { startMailServer } from '../support/mail-server.ts';
import { eventuallyWithin, NodeProcess } from '../support/node-process.ts';

const waitLimitMs = 240_000;

interface Pool {
  nodes: { otpNode: string; hostname: string; clusterMembership: string; replication: number }[];
}

interface TerseBucket {
  vBucketServerMap: { vBucketMap: number[][]; serverList: string[] };
}

const read = async <T>(node: NodeProcess, path: string): Promise<T> =>
  (await node.request(path)).json() as Promise<T>;
const startUnprovisioned = () => NodeProcess.start({ unprovisioned: true, args: ['--services', 'kv'] });

async function post(node: NodeProcess, path: string, form: Record<string, string>): Promise<void> {
  const answer = await node.request(path, 'POST', form);
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.text()}`);
}

test('a killed node is failed over, with a mail, and other nodes serve its shards', {
  timeout: 600_000,
}, async (t) => {
  await using mail = await startMailServer({ plain: true });
  await using first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256'] });
  await using second = await startUnprovisioned();
  await using third = await startUnprovisioned();
  await joinNodes(first, [second, third]);
  await post(first, '/settings/alerts', {
    enabled: 'true',
    recipients: 'a@b',
    sender: 'c@d',
    alerts: 'auto_failover_node',
    emailHost: '127.0.0.1',
    emailPort: `${mail.port}`,
    emailEncrypt: 'false',
  });
  await post(first, '/pools/default/buckets', { name: 'b', ramQuotaMB: '100', replicaNumber: '1' });
  const { serverList, vBucketMap } = (await read<TerseBucket>(first, '/pools/default/b/b')).vBucketServerMap;
  const indexOf = (node: NodeProcess): number =>
    serverList.findIndex((address) => portNumber(address) === portNumber(node.ready.node.kv));
  const vb = vBucketMap.findIndex(([active, copy]) => active === indexOf(third) && copy === indexOf(second));
  const client = await dataClient(third, 'b');
  await eventuallyWithin(waitLimitMs, async () => {
    const { status } = await client.ask(set('k', 'one', { vb, framing: majority }));
    assert.equal(status, Status.success);
  });
  client.close();
  const { nodes } = await read<Pool>(first, '/pools/default');
  const thirdName = nodes.find(
    ({ hostname }) => portNumber(hostname) === portNumber(third.ready.node.rest),
  )?.otpNode;

  const successor = await dataClient(second, 'b');
  // The timeout is in seconds. On a busy machine, a shorter one could fail over nodes that run.
  await post(first, '/settings/autoFailover', { enabled: 'true', timeout: '20' });
  // Waits until all copies are in sync: a shard without a copy in sync cannot fail over without losing durable writes.
  await eventuallyWithin(waitLimitMs, async () => {
    const bucket = await read<Pool>(first, '/pools/default/buckets/b');
    assert.deepEqual(
      bucket.nodes.map(({ replication }) => replication),
      [1, 1, 1],
    );
  });
  const killedMs = performance.now();
  await third.stop('SIGKILL');
  await eventuallyWithin(waitLimitMs, async () => {
    const { status } = await successor.ask(set('after', 'two', { vb }));
    assert.equal(status, Status.success, await (await first.request('/logs')).text());
  });
  t.diagnostic(`first write after ${((performance.now() - killedMs) / 1000).toFixed(1)} s`);
  const { status, value } = await successor.ask(get('k', { vb }));
  assert.deepEqual([status, value.toString()], [Status.success, 'one']);
  successor.close();
  await eventuallyWithin(waitLimitMs, async () => {
    const { count } = await read<{ count: number }>(first, '/settings/autoFailover');
    assert.equal(count, 1);
  });
  const pool = await read<Pool>(second, '/pools/default');
  assert.equal(pool.nodes.find(({ otpNode }) => otpNode === thirdName)?.clusterMembership, 'inactiveFailed');
  await eventuallyWithin(waitLimitMs, async () => {
    const [received] = mail.mails;
    assert.match(received?.raw ?? '', /Subject: Divan alert: auto_failover_node/);
    assert.ok(received?.raw.includes(`Node ('${thirdName}') was automatically failed over. Reason:`));
  });
});
