// The steps that spread the documents over the nodes that stay, and remove those that leave once they hold none.
import { placementOf } from '../clusters/cluster-nodes.ts';
import {
  type ClusterMembers,
  type Member,
  memberAt,
  membershipOf,
  rebalanceProblem,
  recoverNode,
  startRebalance,
} from '../node-client/membership.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import type { ClusterRow, NodeRow } from '../store/tables.ts';
import { changeNode, noAddress, type PlanParts } from './plan-parts.ts';

const pollMs = 250;

/** Repeatable: a rebalance that an earlier attempt started is waited for. */
export async function balanceNodes(
  { nodes, clock }: PlanParts,
  cluster: ClusterRow,
  cancellation: AbortSignal,
): Promise<void> {
  const rows = await nodes.rowsOf(cluster.id);
  if (rows.length === 1) return;
  const client = await nodes.founderClient(cluster);
  const untilIdle = async (): Promise<ClusterMembers> => {
    for (;;) {
      const membership = await membershipOf(client);
      if (membership.rebalanceStatus === 'none') return membership;
      await clock.sleep(pollMs, cancellation);
    }
  };
  const before = await untilIdle();
  if (isBalanced(before, rows)) return;
  const { staying, leaving } = membersOf(before, rows);
  await prepareStaying(client, staying);
  await startRebalance(client, before, leaving);
  if (!isBalanced(await untilIdle(), rows))
    throw new Error((await rebalanceProblem(client)) ?? 'the cluster is not balanced yet');
}

export async function removeLeaving(parts: PlanParts, cluster: ClusterRow): Promise<void> {
  for (const { id, state } of await parts.nodes.rowsOf(cluster.id)) {
    if (state !== 'leaving') continue;
    // Without an address the node is not started again if the cloud is killed before the removal of its data.
    await changeNode(parts, id, noAddress);
    await parts.provisioner.remove(id);
    await parts.store.deleteFrom('nodes').where('id', '=', id).execute();
  }
}

/** True if exactly the nodes that stay are members, all are active, and the documents are balanced over them. */
function isBalanced(membership: ClusterMembers, rows: readonly NodeRow[]): boolean {
  const { staying, leaving } = membersOf(membership, rows);
  const isActive = (node: Member | undefined): boolean => node?.clusterMembership === 'active';
  return membership.balanced && leaving.length === 0 && staying.every(isActive);
}

function membersOf(membership: ClusterMembers, rows: readonly NodeRow[]) {
  const placed = rows.filter(({ address }) => address !== '');
  const memberOf = (node: NodeRow): Member | undefined => memberAt(membership, placementOf(node));
  const staying = placed.filter(({ state }) => state !== 'leaving').map(memberOf);
  const leaving = placed.filter(({ state }) => state === 'leaving').flatMap((node) => memberOf(node) ?? []);
  return { staying, leaving };
}

/**
 * Throws if a node that stays does not answer: a rebalance would fail. Marks nodes that were failed over for recovery: a rebalance would
 * remove them.
 */
async function prepareStaying(client: NodeClient, staying: readonly (Member | undefined)[]): Promise<void> {
  for (const node of staying) {
    if (node === undefined) throw new Error('a node is no member of its cluster any more');
    if (node.status === 'unhealthy') throw new Error(`node ${node.otpNode} does not answer`);
    if (node.clusterMembership === 'inactiveFailed') await recoverNode(client, node);
  }
}
