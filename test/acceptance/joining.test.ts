// Two nodes become one cluster, whose configuration the first one stores.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { dataClient, set } from '../support/data-client.ts';
import { needs } from '../support/needs.ts';
import { administrator, eventually, eventuallyWithin, NodeProcess } from '../support/node-process.ts';

interface ShownNode {
  otpNode: string;
  hostname: string;
  clusterMembership: string;
  status: string;
  thisNode?: boolean;
  uptime: string;
  memoryTotal: number;
  services: string[];
  ports: { direct: number; distTLS: number };
}

/** The terse configuration of a bucket: the short form that SDKs read, with the vbucket map. */
interface TerseBucket {
  vBucketServerMap: { serverList: string[]; vBucketMap: number[][] };
  nodes: unknown[];
}

interface Pool {
  nodes: ShownNode[];
  bucketNames: { bucketName: string }[];
  balanced: boolean;
  storageTotals: { ram: { quotaTotal: number } };
}

/** Long enough for a machine that is busy with other tests. */
const waitLimitMs = 240_000;
const firstArgs = ['--services', 'kv', '--memory-quota', '256'];

const pool = async (node: NodeProcess): Promise<Pool> =>
  (await node.request('/pools/default')).json() as Promise<Pool>;
const nodeStates = async (node: NodeProcess): Promise<string[]> =>
  (await pool(node)).nodes.map(
    ({ otpNode, clusterMembership, status }) => `${otpNode} ${clusterMembership} ${status}`,
  );
const addNode = (
  node: NodeProcess,
  other: NodeProcess,
  fields: Record<string, string> = {},
): Promise<Response> =>
  node.request('/controller/addNode', 'POST', {
    hostname: other.ready.node.rest,
    user: '',
    password: '',
    ...fields,
  });
/** The states of both nodes after the second one was added. */
const bothStates = ['ns_1@127.0.0.1 active healthy', 'n_1@127.0.0.1 inactiveAdded healthy'];
const names = ['ns_1@127.0.0.1', 'n_1@127.0.0.1'];
const eject = (node: NodeProcess, otpNode: string): Promise<Response> =>
  node.request('/controller/ejectNode', 'POST', { otpNode });
const nameOf = (text: string): string => text.split(' ')[0] ?? '';
const startUnprovisioned = (dataDir?: string): Promise<NodeProcess> =>
  NodeProcess.start({
    unprovisioned: true,
    args: ['--services', 'kv'],
    ...(dataDir !== undefined && { dataDir }),
  });

/** The ports of a node, to start it there again. `shownBy`: the node that is asked, if the node itself has ended. */
async function portsOf(node: NodeProcess, shownBy = node): Promise<Record<string, number>> {
  const { rest, restTls, kv, kvTls } = node.ready.node;
  const port = (address: string): number => Number(/:(\d+)$/.exec(address)?.[1]);
  const { nodes } = await pool(shownBy);
  const own = nodes.find(({ ports }) => ports.direct === port(kv));
  return {
    rest: port(rest),
    'rest-tls': port(restTls),
    kv: port(kv),
    'kv-tls': port(kvTls),
    'dist-tls': own?.ports.distTLS ?? 0,
  };
}

describe('a node that is added to a cluster', () => {
  it('shares nodes, users, settings and buckets with the founder, returns after kill -9, and can only be read while the founder is down', async () => {
    await using first = await NodeProcess.start({ args: [...firstArgs, '--bucket', 'b'] });
    await using second = await startUnprovisioned();
    const answer = await addNode(first, second);
    assert.deepEqual([answer.status, await answer.text()], [200, '{"otpNode":"n_1@127.0.0.1"}']);
    for (const node of [first, second])
      await eventuallyWithin(waitLimitMs, async () => assert.deepEqual(await nodeStates(node), bothStates));
    const [a, b] = [await pool(first), await pool(second)];
    assert.deepEqual([a.balanced, b.balanced], [false, false]);
    assert.deepEqual(b.bucketNames, a.bucketNames);
    assert.deepEqual(
      b.nodes.map(({ thisNode }) => thisNode ?? false),
      [false, true],
    );
    assert.ok(b.nodes.every(({ memoryTotal, uptime }) => memoryTotal > 0 && /^\d+$/.test(uptime)));
    // A node that holds no documents counts in no total.
    assert.equal(b.storageTotals.ram.quotaTotal, 256 * 1024 * 1024);

    const ann = { password: 'password', roles: 'ro_admin' };
    assert.equal((await second.request('/settings/rbac/users/local/ann', 'PUT', ann)).status, 200);
    await eventuallyWithin(waitLimitMs, async () =>
      assert.match(await (await first.request('/settings/rbac/users')).text(), /"ann"/),
    );
    assert.equal((await first.request('/pools/default', 'POST', { clusterName: 'ours' })).status, 200);
    await eventuallyWithin(waitLimitMs, async () =>
      assert.match(await (await second.request('/pools/default')).text(), /"clusterName":"ours"/),
    );
    // Through the node that holds no documents: the bucket is on the other one.
    const bucket = { name: 'c', ramQuotaMB: '100', replicaNumber: '0' };
    assert.equal((await second.request('/pools/default/buckets', 'POST', bucket)).status, 202);
    const { vBucketServerMap, nodes } = (await (
      await second.request('/pools/default/b/c')
    ).json()) as TerseBucket;
    assert.deepEqual(vBucketServerMap.serverList, [`127.0.0.1:${a.nodes[0]?.ports.direct}`]);
    assert.ok(vBucketServerMap.vBucketMap.every(([active]) => active === 0));
    assert.equal(nodes.length, 1);
    const documents = await dataClient(first, 'c');
    assert.equal((await documents.ask(set('k', '1'))).status, 0);
    documents.close();
    assert.equal((await second.request('/pools/default/buckets/c', 'DELETE')).status, 200);
    assert.deepEqual(
      (await pool(first)).bucketNames.map(({ bucketName }) => bucketName),
      ['b'],
    );

    const ports = await portsOf(second);
    await second.stop('SIGKILL');
    await eventuallyWithin(waitLimitMs, async () =>
      assert.match((await nodeStates(first)).join(), /inactiveAdded unhealthy/),
    );
    await using again = await NodeProcess.start({ dataDir: second.dataDir, ports });
    for (const node of [first, again])
      await eventuallyWithin(waitLimitMs, async () => assert.deepEqual(await nodeStates(node), bothStates));

    await first.stop('SIGKILL');
    await eventuallyWithin(waitLimitMs, async () => {
      const refused = await again.request('/settings/rbac/users/local/bob', 'PUT', ann);
      assert.equal(refused.status, 503);
      assert.match(await refused.text(), /stored by the founder of the cluster, which cannot be used now/);
    });
    assert.match(await (await again.request('/settings/rbac/users')).text(), /"ann"/);

    const portsOfFounder = await portsOf(first, again);
    await using founder = await NodeProcess.start({ dataDir: first.dataDir, ports: portsOfFounder });
    for (const node of [founder, again])
      await eventuallyWithin(waitLimitMs, async () => assert.deepEqual(await nodeStates(node), bothStates));
    // The member may still try to reach the founder at intervals.
    await eventuallyWithin(waitLimitMs, async () =>
      assert.equal((await again.request('/pools/default', 'POST', { clusterName: 'back' })).status, 200),
    );
  });

  describe('and that belonged to a cluster before', () => {
    let first: NodeProcess;
    /** In each test but the first one it begins as an added node. */
    let second: NodeProcess;
    before(async () => {
      first = await NodeProcess.start({ args: firstArgs });
      second = await NodeProcess.start({ args: firstArgs });
    });
    after(async () => {
      for (const node of [first, second]) await node?.[Symbol.asyncDispose]();
    });

    it('is refused with the published text if it cannot be added, is accepted if it is provisioned, and is refused once it is a member', async () => {
      const refusal = async (fields: Record<string, string>): Promise<unknown> => {
        const answer = await first.request('/controller/addNode', 'POST', fields);
        assert.equal(answer.status, 400);
        return answer.json();
      };
      const there = { hostname: second.ready.node.rest, user: 'Administrator', password: 'password' };
      assert.deepEqual(await refusal({ ...there, password: 'wrong-one' }), [
        'Prepare join failed. Authentication failed. Verify username and password.',
      ]);
      assert.deepEqual(await refusal({ ...there, hostname: first.ready.node.rest }), [
        'Joining node to itself is not allowed.',
      ]);
      const closed = 'http://127.0.0.1:1';
      assert.deepEqual(await refusal({ ...there, hostname: closed }), [
        `Prepare join failed. Failed to connect to ${closed}. Could not connect to "127.0.0.1" on port 1.  This could be due to an incorrect host/port combination or a firewall in place between the servers.`,
      ]);
      assert.equal((await first.request('/pools/default', 'POST', { memoryQuota: '300' })).status, 200);
      assert.deepEqual(await nodeStates(first), ['ns_1@cb.local active healthy']);
      const { nodes } = await pool(second);
      assert.equal(nodes.length, 1);
      // A provisioned node may be added; it loses its provisioning. The address has no scheme: the cluster finds out that the port is plain.
      const bare = { ...there, hostname: there.hostname.replace('http://', '') };
      assert.equal((await addNode(first, second, bare)).status, 200);
      await eventuallyWithin(waitLimitMs, async () => assert.deepEqual(await nodeStates(second), bothStates));
      assert.deepEqual(await refusal(there), ['Prepare join failed. Node is already part of cluster.']);
      const joined = await post(second, '/node/controller/doJoinCluster', there, administrator);
      assert.deepEqual(await joined.json(), [
        'Node is already provisioned. To join use controller/addNode api of the cluster',
      ]);
    });

    it('joins by doJoinCluster, removes its own configuration, and can be added again after it was ejected', async () => {
      assert.equal((await eject(first, 'n_1@127.0.0.1')).status, 200);
      const call = {
        hostname: first.ready.node.rest,
        user: administrator.username,
        password: administrator.password,
      };
      // Until the second node has left, and listens on all its ports, it cannot join.
      await eventuallyWithin(waitLimitMs, async () => {
        const answer = await post(second, '/node/controller/doJoinCluster', call);
        assert.deepEqual([answer.status, await answer.text()], [200, '']);
      });
      for (const node of [first, second])
        await eventuallyWithin(waitLimitMs, async () => assert.deepEqual(await nodeStates(node), bothStates));
      assert.ok(!existsSync(join(second.dataDir, 'config.db')));
      assert.equal(statSync(join(second.dataDir, 'member.json')).mode & 0o777, 0o600);

      const active = await eject(first, 'ns_1@127.0.0.1');
      assert.deepEqual([active.status, await active.text()], [400, 'Cannot remove active server.\n']);
      assert.equal(await (await eject(first, 'ns_1@nobody')).text(), 'Server does not exist.\n');
      assert.equal(await (await first.request('/controller/ejectNode', 'POST', {})).text(), 'Bad Request\n');
      assert.equal((await eject(first, 'n_1@127.0.0.1')).status, 200);
      assert.deepEqual(await nodeStates(first), bothStates.slice(0, 1));
      await eventuallyWithin(waitLimitMs, async () => {
        const pools = (await (await fetch(`${second.ready.node.rest}/pools`)).json()) as { pools: unknown[] };
        assert.deepEqual(pools.pools, []);
      });
      assert.ok(!readdirSync(second.dataDir).includes('member.json'));
      // Until the node listens on all its ports it cannot be added.
      await eventuallyWithin(waitLimitMs, async () =>
        assert.equal((await addNode(first, second)).status, 200),
      );
      await eventuallyWithin(waitLimitMs, async () => assert.deepEqual(await nodeStates(second), bothStates));
    });

    it('can begin a cluster of its own in the process in which it left another one', async () => {
      assert.equal((await eject(first, 'n_1@127.0.0.1')).status, 200);
      const { username, password } = administrator;
      const setUp = { username, password, port: 'SAME' };
      // The second node answers as a new node once it has left.
      await eventuallyWithin(waitLimitMs, async () => {
        const answer = await post(second, '/settings/web', setUp);
        assert.equal(answer.status, 200, await answer.text());
      });
      const credentials = { user: username, password };
      await eventuallyWithin(waitLimitMs, async () => {
        const answer = await addNode(second, first, credentials);
        assert.equal(answer.status, 200, await answer.text());
      });
      await eventuallyWithin(waitLimitMs, async () =>
        assert.deepEqual((await nodeStates(first)).map(nameOf), names),
      );
    });
  });

  it('joins with --join at its first start only, with the services that its command line names, and is refused with --bucket or a wrong password', async () => {
    await using first = await NodeProcess.start({ args: firstArgs });
    const args = ['--services', 'kv', '--join', first.ready.node.rest];
    await using second = await NodeProcess.start({ args });
    await eventually(() => assert.match(second.output, /Joined the cluster at http:/));
    for (const node of [first, second])
      await eventuallyWithin(waitLimitMs, async () =>
        assert.deepEqual((await nodeStates(node)).map(nameOf), names),
      );
    assert.equal(await second.stop(), 0);
    await using again = await NodeProcess.start({ dataDir: second.dataDir, args });
    assert.doesNotMatch(again.output, /Joined/);
    await eventuallyWithin(waitLimitMs, async () =>
      assert.deepEqual((await nodeStates(again)).map(nameOf), names),
    );
    for (const [wrong, text] of [
      [['--bucket', 'b'], /--bucket and --init are for a new cluster/],
      [[], /--join: Authentication failed/],
    ] as const)
      await assert.rejects(NodeProcess.start({ args: [...args, ...wrong], password: 'wrong-one' }), text);

    const withIndexes = ['--services', 'index', '--join', first.ready.node.rest];
    await using third = await NodeProcess.start({ args: withIndexes });
    const services = async () => (await pool(first)).nodes.map((node) => node.services);
    assert.deepEqual(await services(), [['kv'], ['kv'], ['index']]);
    await third.stop();
    await using thirdAgain = await NodeProcess.start({ args: withIndexes, dataDir: third.dataDir });
    assert.ok(thirdAgain.ready.node.index);
    assert.deepEqual(await services(), [['kv'], ['kv'], ['index']]);
  });

  it('has the name of --node-name, which the first node and a joining one take at their first start', {
    skip: needs('loopback addresses'),
  }, async () => {
    const named = (name: string) => ['--services', 'kv', '--host', name, '--node-name', name];
    const [a, b] = ['127.0.31.1', '127.0.31.2'] as const;
    await using first = await NodeProcess.start({ args: [...named(a), '--memory-quota', '256'] });
    assert.deepEqual((await nodeStates(first)).map(nameOf), [`ns_1@${a}`]);
    // The quota is that of the cluster: all nodes can be given the same options.
    const args = [...named(b), '--join', first.ready.node.rest, '--memory-quota', '256'];
    await using second = await NodeProcess.start({ args });
    assert.doesNotMatch(second.output, /ignored/);
    const members = [`ns_1@${a} active healthy`, `ns_1@${b} active healthy`];
    for (const node of [first, second])
      await eventuallyWithin(waitLimitMs, async () => assert.deepEqual(await nodeStates(node), members));
    const other = ['--services', 'kv', '--node-name', '192.0.2.1', '--join', first.ready.node.rest];
    await assert.rejects(NodeProcess.start({ args: other }), /divan: --node-name: .*192\.0\.2\.1/);
    await assert.rejects(
      NodeProcess.start({ unprovisioned: true, args: ['--node-name', b] }),
      /divan: --node-name needs --username and --password/,
    );
  });
});

function post(
  node: NodeProcess,
  path: string,
  fields: Record<string, string>,
  as?: { username: string; password: string },
): Promise<Response> {
  const pair = as && Buffer.from(`${as.username}:${as.password}`).toString('base64');
  return fetch(`${node.ready.node.rest}${path}`, {
    method: 'POST',
    headers: { ...(pair !== undefined && { authorization: `Basic ${pair}` }) },
    body: new URLSearchParams(fields),
  });
}
