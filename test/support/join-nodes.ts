// Makes unprovisioned nodes members of the cluster of a provisioned one, and rebalances.
import assert from 'node:assert/strict';
import { eventuallyWithin, type NodeProcess } from './node-process.ts';

const rebalanceTimeoutMs = 240_000;

interface Pool {
  balanced: boolean;
  nodes: { otpNode: string; clusterMembership: string }[];
}

/** Adds the nodes and rebalances; resolves once all nodes are active. */
export async function joinNodes(first: NodeProcess, others: readonly NodeProcess[]): Promise<void> {
  for (const node of others) await addNode(first, node);
  await rebalance(first);
}

export const addNode = (first: NodeProcess, added: NodeProcess): Promise<void> =>
  post(
    first,
    '/controller/addNode',
    { hostname: added.ready.node.rest, user: '', password: '' },
    () => `the added node printed: ${added.output}`,
  );

/** Rebalances by a request to the node, without those of `ejected`; resolves once all nodes are active. */
export async function rebalance(by: NodeProcess, ejected: readonly string[] = []): Promise<void> {
  const knownNodes = (await poolOf(by)).nodes.map(({ otpNode }) => otpNode).join(',');
  await post(by, '/controller/rebalance', { knownNodes, ejectedNodes: ejected.join() });
  await eventuallyWithin(rebalanceTimeoutMs, async () => {
    const { balanced, nodes } = await poolOf(by);
    const isDone = balanced && nodes.every(({ clusterMembership }) => clusterMembership === 'active');
    if (!isDone) assert.fail(await (await by.request('/pools/default/tasks')).text());
  });
}

const poolOf = async (node: NodeProcess): Promise<Pool> =>
  (await (await node.request('/pools/default')).json()) as Pool;

async function post(
  node: NodeProcess,
  path: string,
  form: Record<string, string>,
  details = () => '',
): Promise<void> {
  const answer = await node.request(path, 'POST', form);
  const text = await answer.text();
  if (answer.status !== 200) assert.fail(`${path}: ${answer.status} ${text} ${details()}`);
}
