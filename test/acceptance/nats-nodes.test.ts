// Several nodes whose configuration is on NATS servers: they join, share documents, continue without the servers, and leave again.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Collection, DurabilityLevel } from 'couchbase';
import { joinNodes, rebalance } from '../support/join-nodes.ts';
import { NatsCluster, type NatsServer } from '../support/nats-servers.ts';
import { needs } from '../support/needs.ts';
import { administrator, eventually, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const waitLimitMs = 240_000;
/** Enough for each node to have some. */
const documents = 60;
const kv = ['--services', 'kv'];
const majority = { durabilityLevel: DurabilityLevel.Majority };

interface Pool {
  nodes: { otpNode: string; hostname: string; clusterMembership: string }[];
  balanced: boolean;
}

const pool = async (node: NodeProcess): Promise<Pool> =>
  (await (await node.request('/pools/default')).json()) as Pool;
const otpNodeOf = async (node: NodeProcess): Promise<string> =>
  ((await (await node.request('/nodes/self')).json()) as { otpNode: string }).otpNode;
const members = async (node: NodeProcess): Promise<string[]> =>
  (await pool(node)).nodes.map(({ otpNode, clusterMembership }) => `${otpNode} ${clusterMembership}`);

/** Empty if the node is not set up. */
const poolsOf = async ({ ready }: NodeProcess): Promise<unknown[]> =>
  ((await (await fetch(`${ready.node.rest}/pools`)).json()) as { pools: unknown[] }).pools;

async function post(node: NodeProcess, path: string, form: Record<string, string>): Promise<void> {
  const answer = await node.request(path, 'POST', form);
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.text()}`);
}

const firstNodeOn = (url: string): Promise<NodeProcess> =>
  NodeProcess.start({ args: [...kv, '--memory-quota', '256', '--engine', url] });

/** The ports of a node, to start it there again. */
async function portsOf(node: NodeProcess): Promise<Record<string, number>> {
  const port = (address: string): number => Number(/:(\d+)$/.exec(address)?.[1]);
  const { rest, kv: data } = node.ready.node;
  const { ports } = (await (await node.request('/nodes/self')).json()) as { ports: { distTLS: number } };
  return { rest: port(rest), kv: port(data), 'dist-tls': ports.distTLS };
}

async function withDocuments(
  nodes: readonly NodeProcess[],
  run: (collection: Collection) => Promise<void>,
): Promise<void> {
  const addresses = nodes.map(({ ready }) => ready.node.kv).join(',');
  const client = await connect(`couchbase://${addresses}`, administrator);
  try {
    await run(client.bucket('b').defaultCollection());
  } finally {
    await client.close();
  }
}

async function write(collection: Collection, value: string): Promise<void> {
  await Promise.all(
    Array.from({ length: documents }, (_, at) => collection.upsert(`k${at}`, value, majority)),
  );
}

async function assertRead(collection: Collection, value: string): Promise<void> {
  for (let at = 0; at < documents; at++) assert.equal((await collection.get(`k${at}`)).content, value);
}

/** Writes succeed as soon as the copies are in sync. */
const eventuallyWrite = (collection: Collection, value: string): Promise<void> =>
  eventuallyWithin(waitLimitMs, () => write(collection, value));

describe('nodes whose configuration is on NATS', { skip: needs('nats-server') }, () => {
  it('join with the servers and login of the first, serve without the servers, and leave, also the first', async () => {
    await using servers = await NatsCluster.start({ extra: 'authorization { user: ann, password: sesame }' });
    const [server] = servers.servers as [NatsServer];
    await using first = await firstNodeOn(servers.url.replace('nats://', 'nats://ann:sesame@'));
    const args = [...kv, '--join', first.ready.node.rest];
    await using second = await NodeProcess.start({ args });
    const names = [await otpNodeOf(first), await otpNodeOf(second)] as const;
    for (const node of [first, second])
      await eventuallyWithin(waitLimitMs, async () =>
        assert.deepEqual(
          await members(node),
          names.map((name) => `${name} active`),
        ),
      );
    await post(second, '/pools/default/buckets', { name: 'b', ramQuotaMB: '100', replicaNumber: '1' });
    await withDocuments([first, second], async (collection) => {
      await eventuallyWrite(collection, 'one');

      await server.stop('SIGKILL');
      await write(collection, 'two');
      for (const node of [first, second]) {
        const refused = await node.request('/pools/default', 'POST', { clusterName: 'never' });
        assert.equal(refused.status, 503);
        assert.match(await refused.text(), /Nothing was changed: .* by NATS at 127\.0\.0\.1:\d+, which/);
      }
      await write(collection, 'three');
      await assertRead(collection, 'three');
    });

    const ports = await portsOf(second);
    await second.stop('SIGKILL');
    // Without the servers it starts from its copy of the configuration.
    await using restarted = await NodeProcess.start({ args, dataDir: second.dataDir, ports });
    await eventually(() => assert.match(restarted.output, /starting from the copy of the configuration in /));
    assert.deepEqual(
      await members(restarted),
      names.map((name) => `${name} active`),
    );
    assert.ok(!`${first.output}${second.output}${restarted.output}`.includes('sesame'));
    await server.start();
    await withDocuments([first, restarted], async (collection) => {
      for (const node of [first, restarted])
        await eventuallyWithin(waitLimitMs, () => post(node, '/pools/default', { clusterName: 'on NATS' }));
      await eventuallyWrite(collection, 'five');
      await post(restarted, '/controller/rebalance', { knownNodes: names.join(), ejectedNodes: names[0] });
      await eventuallyWithin(waitLimitMs, async () =>
        assert.deepEqual(await members(restarted), [`${names[1]} active`]),
      );
      await eventuallyWithin(waitLimitMs, async () => {
        assert.deepEqual(await poolsOf(first), [], 'the removed node still belongs to a cluster');
      });
      assert.ok(!existsSync(join(first.dataDir, 'nats.json')));
      await assertRead(collection, 'five');
    });
    // The remaining node can add another one, here the removed node.
    const call = { hostname: first.ready.node.rest, user: '', password: '' };
    // Until the removed node listens on all its ports it cannot be added.
    await eventuallyWithin(waitLimitMs, () => post(restarted, '/controller/addNode', call));
    await rebalance(restarted);
    const { nats } = JSON.parse(readFileSync(join(first.dataDir, 'member.json'), 'utf8')) as {
      nats: { servers: string };
    };
    assert.match(nats.servers, /^nats:\/\/ann:sesame@/);
    await withDocuments([first, restarted], (collection) => assertRead(collection, 'five'));
  });

  it('continue when a NATS server is killed, and fail the first node over', async () => {
    await using servers = await NatsCluster.start({ count: 3 });
    await using first = await firstNodeOn(servers.url);
    const unprovisioned = { unprovisioned: true, args: kv };
    await using second = await NodeProcess.start(unprovisioned);
    await using third = await NodeProcess.start(unprovisioned);
    await joinNodes(first, [second, third]);
    await post(first, '/pools/default/buckets', { name: 'b', ramQuotaMB: '100', replicaNumber: '2' });
    const dead = await otpNodeOf(first);
    await withDocuments([second, third], async (collection) => {
      await eventuallyWrite(collection, 'one');
      for (const server of servers.servers) {
        await server.stop('SIGKILL');
        await write(collection, server.folder);
        await server.start();
      }
      await eventuallyWithin(waitLimitMs, () => post(third, '/pools/default', { clusterName: 'on NATS' }));
      await first.stop('SIGKILL');
      await eventuallyWithin(waitLimitMs, () => post(third, '/controller/failOver', { otpNode: dead }));
      await eventuallyWrite(collection, 'three');
      await assertRead(collection, 'three');
      await rebalance(third, [dead]);
      await assertRead(collection, 'three');
    });
    // The first node finds that it was removed, and is empty from then on.
    const { dataDir } = first;
    await assert.rejects(
      NodeProcess.start({ dataDir, args: [...kv, '--engine', servers.url] }),
      /the cluster removed the node of the data folder .*: start it without --engine as a new node/,
    );
    await using restarted = await NodeProcess.start({ dataDir, ...unprovisioned });
    assert.equal((await members(third)).length, 2);
    assert.deepEqual(await poolsOf(restarted), []);
  });
});
