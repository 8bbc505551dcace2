// Steps that give nodes their addresses and start them.
import { untilAborted } from '#ports/within.ts';
import { placementOf } from '../clusters/cluster-nodes.ts';
import { inParallel } from '../in-parallel.ts';
import { AddressInUseError } from '../provisioner/provisioner.ts';
import type { ClusterRow, NodeRow } from '../store/tables.ts';
import { changeNode, noAddress, type PlanParts } from './plan-parts.ts';

/** Stores an address before a node listens on it. */
export async function placeNodes(parts: PlanParts, cluster: ClusterRow): Promise<void> {
  const { store, provisioner, nodes } = parts;
  for (const node of await nodes.rowsOf(cluster.id)) {
    if (node.address !== '' || node.state === 'leaving') continue;
    const placed = await store.selectFrom('nodes').selectAll().where('address', '!=', '').execute();
    const { address, ports } = await provisioner.place(placed.map(placementOf));
    await changeNode(parts, node.id, { address, ports: JSON.stringify(ports) });
  }
}

/** Chooses another address if an earlier attempt found it in use. The founder comes first: the others wait for it. */
export async function startNodes(
  parts: PlanParts,
  cluster: ClusterRow,
  cancellation: AbortSignal,
): Promise<void> {
  await placeNodes(parts, cluster);
  const placed = (await parts.nodes.rowsOf(cluster.id)).filter(({ address }) => address !== '');
  await inParallel(placed, (node) => startOrResume(parts, cluster, node, cancellation));
}

/** A new node has no data: with another address it starts from scratch. A member is never replaced by an empty node. */
async function startOrResume(
  parts: PlanParts,
  cluster: ClusterRow,
  node: NodeRow,
  cancellation: AbortSignal,
): Promise<void> {
  // The other nodes still wait for their turn when the operation is cancelled.
  cancellation.throwIfAborted();
  const { provisioner, nodes } = parts;
  const spec = nodes.spec(cluster, node);
  if (node.state !== 'new') return untilAborted(cancellation, provisioner.resume(spec));
  try {
    await provisioner.start(spec, cancellation);
  } catch (error) {
    if (error instanceof AddressInUseError) {
      await provisioner.remove(node.id);
      await changeNode(parts, node.id, noAddress);
    }
    throw error;
  }
}
