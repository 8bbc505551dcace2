// Three processes: the founder, which stores the configuration, dies. A member that restarts meanwhile serves from its copy of the
// configuration.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventuallyWithin, NodeProcess } from '../support/node-process.ts';

const waitLimitMs = 60_000;

interface Pool {
  balanced: boolean;
  nodes: {
    otpNode: string;
    hostname: string;
    clusterMembership: string;
    status: string;
    thisNode?: boolean;
  }[];
}

const read = async <T>(node: NodeProcess, path: string): Promise<T> =>
  (await node.request(path)).json() as Promise<T>;
const pool = (node: NodeProcess) => read<Pool>(node, '/pools/default');
const portIn = (address: string): number => Number(/:(\d+)$/.exec(address)?.[1]);
const member = (dataDir?: string, ports?: Record<string, number>) =>
  NodeProcess.start({
    ...(dataDir !== undefined && { dataDir }),
    ...(ports !== undefined && { ports }),
    ...{ unprovisioned: true, args: ['--services', 'kv'] },
  });

async function post(node: NodeProcess, path: string, form: Record<string, string>): Promise<void> {
  const answer = await node.request(path, 'POST', form);
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.text()}`);
}

async function balanced(node: NodeProcess): Promise<void> {
  const { nodes } = await pool(node);
  const knownNodes = nodes.map(({ otpNode }) => otpNode).join(',');
  await post(node, '/controller/rebalance', { knownNodes, ejectedNodes: '' });
  await eventuallyWithin(waitLimitMs, async () => assert.equal((await pool(node)).balanced, true));
}

/** The ports that a node took, to start it there again. */
async function portsOf(node: NodeProcess): Promise<Record<string, number>> {
  const { rest, restTls, kv, kvTls, capi, capiTls } = node.ready.node;
  const { ports } = await read<{ ports: { distTCP: number; distTLS: number } }>(node, '/nodes/self');
  return {
    ...{ rest: portIn(rest), 'rest-tls': portIn(restTls), kv: portIn(kv), 'kv-tls': portIn(kvTls) },
    ...{ capi: portIn(capi), 'capi-tls': portIn(capiTls), dist: ports.distTCP, 'dist-tls': ports.distTLS },
  };
}

test('a member that restarts while the founder is away serves from its copy', {
  timeout: 300_000,
}, async () => {
  await using first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256'] });
  await using second = await member();
  await using third = await member();
  for (const { ready } of [second, third])
    await post(first, '/controller/addNode', { hostname: ready.node.rest, user: '', password: '' });
  await balanced(first);
  await post(first, '/pools/default/buckets', { name: 'b', ramQuotaMB: '100', replicaNumber: '1' });
  const ports = await portsOf(third);
  await first.stop('SIGKILL');
  await third.stop('SIGKILL');
  await using again = await member(third.dataDir, ports);
  assert.equal((await again.request('/pools/default/buckets/b')).status, 200);
  const refused = await again.request('/pools/default/buckets', 'POST', {
    ...{ name: 'c', ramQuotaMB: '100', replicaNumber: '0' },
  });
  assert.equal(refused.status, 503);
  assert.match(await refused.text(), /which cannot be used now/);
  assert.match(again.output, /starting from the copy of the configuration/);
});
