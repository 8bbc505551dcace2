// The steps that spread the documents over the nodes that stay, and remove those that leave once they hold none.
import type { Clock } from '#ports/clock.ts';
import { placementOf } from '../clusters/cluster-nodes.ts';
import {
  type ClusterMembers,
  type Member,
  memberAt,
  membershipOf,
  rebalanceProblem,
  recoverNode,
  shownProgress,
  startRebalance,
} from '../node-client/membership.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import type { ClusterRow, NodeRow } from '../store/tables.ts';
import { changeNode, noAddress, type PlanParts } from './plan-parts.ts';

const pollEveryMs = 250;
const progressEveryMs = 30_000;
/** A rebalance whose progress has not changed for this long may never end: the step fails, so that other operations get its place. */
const stalledMinutes = 30;

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
    const progress = new ProgressCheck(client, clock);
    for (;;) {
      const membership = await membershipOf(client);
      if (membership.rebalanceStatus === 'none') return membership;
      await progress.check();
      await clock.sleep(pollEveryMs, cancellation);
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

class ProgressCheck {
  private readonly client: NodeClient;
  private readonly clock: Pick<Clock, 'monotonicMs'>;
  private progress = '';
  private readMs: number;
  private changedMs: number;

  constructor(client: NodeClient, clock: Pick<Clock, 'monotonicMs'>) {
    this.client = client;
    this.clock = clock;
    this.readMs = clock.monotonicMs();
    this.changedMs = this.readMs;
  }

  /** Throws if the rebalance has made no progress for long. */
  async check(): Promise<void> {
    const now = this.clock.monotonicMs();
    if (now - this.readMs < progressEveryMs) return;
    this.readMs = now;
    const progress = await shownProgress(this.client);
    if (progress !== this.progress) this.changedMs = now;
    else if (now - this.changedMs >= stalledMinutes * 60_000)
      throw new Error(`the rebalance has made no progress for ${stalledMinutes} minutes`);
    this.progress = progress;
  }
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
