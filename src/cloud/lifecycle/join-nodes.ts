// The step that makes started nodes members of their cluster, one after the other. The first node is the founder.
import { untilAborted } from '#ports/within.ts';
import { placementOf } from '../clusters/cluster-nodes.ts';
import {
  addNode,
  type ClusterMembers,
  ejectNode,
  memberAt,
  membershipOf,
  nameNode,
} from '../node-client/membership.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import type { ClusterRow, NodeRow } from '../store/tables.ts';
import { lowerQuota } from './memory-quota.ts';
import { changeNode, type PlanParts } from './plan-parts.ts';

export async function joinNodes(
  parts: PlanParts,
  cluster: ClusterRow,
  cancellation: AbortSignal,
): Promise<void> {
  const rows = await parts.nodes.rowsOf(cluster.id);
  const [founder, ...others] = rows as [NodeRow, ...NodeRow[]];
  if (founder.state === 'new') await changeNode(parts, founder.id, { state: 'member' });
  const joining = others.filter(({ state }) => state === 'new');
  if (joining.length === 0) return;
  const client = parts.nodes.clientOf(cluster, founder);
  await prepareFounder(client, rows);
  for (const node of joining) {
    cancellation.throwIfAborted();
    await untilAborted(cancellation, join(parts, cluster, client, node));
    await changeNode(parts, node.id, { state: 'member' });
  }
}

async function prepareFounder(client: NodeClient, rows: readonly NodeRow[]): Promise<void> {
  const membership = await membershipOf(client);
  if (membership.nodes.length === 1) await nameNode(client, placementOf(rows[0] as NodeRow));
  await ejectUnknown(client, membership, rows);
  await lowerQuota(client, rows);
}

/** Ejects added nodes that no row names: such a node joined, could not be started again at its address, and was replaced by an empty one. */
async function ejectUnknown(
  client: NodeClient,
  membership: ClusterMembers,
  rows: readonly NodeRow[],
): Promise<void> {
  const knownMembers = rows
    .filter(({ address }) => address !== '')
    .map((row) => memberAt(membership, placementOf(row)));
  for (const member of membership.nodes)
    if (member.clusterMembership === 'inactiveAdded' && !knownMembers.includes(member))
      await ejectNode(client, member);
}

/** Adds the node to the cluster. An earlier attempt may have added it, or may still be adding it. */
async function join(
  { nodes }: PlanParts,
  cluster: ClusterRow,
  founder: NodeClient,
  node: NodeRow,
): Promise<void> {
  const spec = nodes.spec(cluster, node);
  const present = memberAt(await membershipOf(founder), spec);
  if (present?.status === 'unhealthy')
    throw new Error(`node ${present.otpNode} is joining and does not answer yet`);
  if (present !== undefined) return;
  await nameNode(nodes.clientOf(cluster, node), spec);
  await addNode(founder, spec);
}
