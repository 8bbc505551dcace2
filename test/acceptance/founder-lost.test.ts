// The founder of three nodes, which stores their configuration, is killed while a client writes. A member that restarts meanwhile serves from
// its copy of the configuration; an unsafe failover makes it the founder, and the old founder follows it when it returns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Collection, DurabilityLevel } from 'couchbase';
import { assertEqualCopies } from '../support/cluster-copies.ts';
import { joinNodes, rebalance } from '../support/join-nodes.ts';
import { administrator, eventually, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const waitLimitMs = 240_000;
const bucket = { name: 'b', ramQuotaMB: '100', replicaNumber: '2' };
const durable = { durabilityLevel: DurabilityLevel.Majority, timeout: 2_500 };

interface Pool {
  nodes: { otpNode: string; clusterMembership: string; thisNode?: boolean }[];
}

const read = async <T>(node: NodeProcess, path: string): Promise<T> =>
  (await node.request(path)).json() as Promise<T>;
const pool = (node: NodeProcess) => read<Pool>(node, '/pools/default');
const portIn = (address: string): number => Number(/:(\d+)$/.exec(address)?.[1]);

const restarted = async (node: NodeProcess, ports: Record<string, number>) =>
  NodeProcess.start({ dataDir: node.dataDir, ports, unprovisioned: true, args: ['--services', 'kv'] });

async function post(node: NodeProcess, path: string, form: Record<string, string>): Promise<void> {
  const answer = await node.request(path, 'POST', form);
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.text()}`);
}

/** The ports of a node, to start it there again. */
async function portsOf(node: NodeProcess): Promise<Record<string, number>> {
  const { rest, restTls, kv, kvTls } = node.ready.node;
  const { ports } = await read<{ ports: { distTLS: number } }>(node, '/nodes/self');
  return {
    rest: portIn(rest),
    'rest-tls': portIn(restTls),
    kv: portIn(kv),
    'kv-tls': portIn(kvTls),
    'dist-tls': ports.distTLS,
  };
}

/** Writes one document after the other with `majority`, and notes those that were acknowledged. */
function writing(collection: Collection) {
  const acknowledged = new Set<string>();
  let isOver = false;
  const running = (async () => {
    for (let number = 0; !isOver; number++) {
      const key = `key-${number}`;
      try {
        await collection.upsert(key, { number }, durable);
        acknowledged.add(key);
      } catch {
        // The outcome of the write is unknown, or nothing can be written now.
      }
      // Most of the processor time is for what happens meanwhile.
      await pause(20);
    }
  })();
  return {
    acknowledged,
    /** Resolves once further writes were acknowledged. */
    async continues(): Promise<void> {
      const before = acknowledged.size;
      await eventuallyWithin(waitLimitMs, async () => assert.ok(acknowledged.size > before + 50));
    },
    async stop(): Promise<void> {
      isOver = true;
      await running;
    },
  };
}

async function membershipOf(node: NodeProcess, otpNode: string): Promise<string | undefined> {
  return (await pool(node)).nodes.find((candidate) => candidate.otpNode === otpNode)?.clusterMembership;
}

test('a member takes over the configuration of a founder that was killed, and no acknowledged write is lost', {
  timeout: 600_000,
}, async (t) => {
  await using first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256'] });
  const unprovisioned = { unprovisioned: true, args: ['--services', 'kv'] };
  await using second = await NodeProcess.start(unprovisioned);
  await using third = await NodeProcess.start(unprovisioned);
  await joinNodes(first, [second, third]);
  // The least timeout: a restarted member serves in place of a failed node only when its promise to that node has ended.
  await post(first, '/settings/autoFailover', { enabled: 'false', timeout: '5' });
  await post(first, '/pools/default/buckets', bucket);
  const [firstPorts, thirdPorts] = await Promise.all([portsOf(first), portsOf(third)]);
  const founder = (await pool(first)).nodes.find(({ thisNode }) => thisNode)?.otpNode ?? '';
  const hosts = [first, second, third].map(({ ready }) => ready.node.kv).join(',');
  const cluster = await connect(`couchbase://${hosts}`, administrator);
  const load = writing(cluster.bucket('b').defaultCollection());
  try {
    await load.continues();
    await first.stop('SIGKILL');
    await third.stop();
    await using again = await restarted(third, thirdPorts);
    await eventually(() =>
      assert.match(again.output, /starting from the copy of the configuration in .*config-copy\.db/),
    );
    assert.equal((await again.request('/pools/default/buckets/b')).status, 200);
    // Without copies the rebalance has less to do for this bucket, which needs none.
    const another = { ...bucket, name: 'c', replicaNumber: '0' };
    const refused = await again.request('/pools/default/buckets', 'POST', another);
    assert.equal(refused.status, 503);
    assert.match(await refused.text(), /stored by the founder of the cluster, which cannot be used now/);

    const safely = await again.request('/controller/failOver', 'POST', { otpNode: founder });
    assert.equal(safely.status, 504);
    assert.match(await safely.text(), /stores the configuration of the cluster and cannot be reached/);
    const beganMs = performance.now();
    await post(again, '/controller/failOver', { otpNode: founder, allowUnsafe: 'true' });
    for (const node of [again, second])
      await eventuallyWithin(waitLimitMs, async () =>
        assert.equal(await membershipOf(node, founder), 'inactiveFailed'),
      );
    t.diagnostic(`failed over in ${Math.round(performance.now() - beganMs)} ms`);
    await load.continues();
    // The request goes to the other member, which follows the new founder.
    await eventuallyWithin(waitLimitMs, () => post(second, '/pools/default/buckets', another));
    const { revEpoch } = await read<{ revEpoch: number }>(second, '/pools/default/b/b');
    assert.equal(revEpoch, 2);

    await using back = await restarted(first, firstPorts);
    await eventually(() =>
      assert.match(
        back.output,
        /another node of the cluster stores the configuration now; this one was failed over/,
      ),
    );
    await eventuallyWithin(waitLimitMs, async () =>
      assert.equal(await membershipOf(back, founder), 'inactiveFailed'),
    );
    assert.equal((await back.request('/pools/default/buckets/c')).status, 200);
    await post(second, '/controller/setRecoveryType', { otpNode: founder, recoveryType: 'full' });
    await rebalance(second);
    await load.continues();
    await load.stop();
    const documents = await assertEqualCopies([again, second, back], 'b', 2);
    // Keys of change streams begin with the collection: here the default one.
    for (const key of load.acknowledged) assert.ok(documents.has(`\0${key}`), `${key} is lost`);
    t.diagnostic(`${load.acknowledged.size} acknowledged writes`);
  } finally {
    await load.stop();
    await cluster.close();
  }
});
