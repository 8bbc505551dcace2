// Changes the servers of a cluster: one transaction writes the requested servers, the rows of added nodes, the state of nodes that leave,
// and the operation that carries out the change.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import { type ApiError, invalid, notFound } from '../answers/api-error.ts';
import { membershipOf } from '../node-client/membership.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import { quotaOf } from '../node-client/quota.ts';
import { UnresponsiveNodeError } from '../node-client/refusals.ts';
import type { OperationsStore } from '../operations/operations.store.ts';
import { lockRow } from '../store/lock-row.ts';
import type { ClusterRow, NodeRow, Store } from '../store/tables.ts';
import type { Capacity } from './capacity.ts';
import type { ClusterNodes } from './cluster-nodes.ts';
import {
  type ClusterSpec,
  nodeCount,
  operationLimitMs,
  refuseUnoffered,
  type ServerGroup,
} from './cluster-spec.ts';
import type { HomeCapacities } from './home-capacities.ts';
import {
  groupOfEach,
  groupRunsDataService,
  memoryForData,
  type NodeChange,
  newNodeRows,
  nodeChange,
  nodeMatcher,
  sameServices,
} from './node-rows.ts';
import { managedPhases } from './phase.ts';
import type { ReadyCluster } from './ready-cluster.ts';
import type { V3Place, V3Server } from './v3.contract.ts';
import { groupOf, type Provider, serverReply } from './v3.servers.ts';

export interface ClusterScaleOptions {
  store: Store;
  operations: OperationsStore;
  nodes: ClusterNodes;
  capacities: Pick<HomeCapacities, 'of'>;
  /** Called when a new operation is due. */
  wake: () => void;
  clock: Clock;
  random: Random;
}

interface ServerChange {
  readonly requested: readonly ServerGroup[];
  /** The capacity of the server that runs the nodes. */
  readonly capacity: Capacity;
  readonly isBalanced: boolean;
}

export class ClusterScaleService {
  private readonly options: ClusterScaleOptions;

  constructor(options: ClusterScaleOptions) {
    this.options = options;
  }

  /**
   * Resolves with the id of the operation; null if no node has to change, as when only the storage differs: the request is only stored.
   * A request without changes rebalances a cluster that is not balanced, for example after a failover.
   */
  async change(cluster: ReadyCluster, servers: readonly V3Server[]): Promise<string | null> {
    refuseUnoffered(servers);
    const provider = await this.providerOf(cluster.row);
    const requested = servers.map((server) => groupOf(server, provider));
    // The server that runs the nodes may have other options than this one.
    const capacity = await this.options.capacities.of(cluster.row.home);
    await this.refuseLessThanUsed(cluster, requested, capacity);
    const isBalanced = await isBalancedOrUnresponsive(cluster.client);
    const operation = await this.options.store
      .transaction()
      .execute((transaction) => this.write(transaction, cluster.row.id, { requested, capacity, isBalanced }));
    if (operation !== null) this.options.wake();
    return operation;
  }

  private async providerOf({ spec, cloud_id }: ClusterRow): Promise<Provider> {
    const { place } = JSON.parse(spec) as { place?: V3Place };
    if (place?.hosted !== undefined) return place.hosted.provider;
    const clouds = this.options.store.selectFrom('clouds').select('provider').where('id', '=', cloud_id);
    return (await clouds.executeTakeFirstOrThrow()).provider as Provider;
  }

  /** The smallest node that runs the data service decides how much memory buckets have on each node. */
  private async refuseLessThanUsed(
    { row, client }: ReadyCluster,
    requested: readonly ServerGroup[],
    capacity: Capacity,
  ): Promise<void> {
    const rows = await this.options.nodes.rowsOf(row.id);
    const { servers } = JSON.parse(row.spec) as ClusterSpec;
    // Nodes that stay keep their memory, also after a change of the size scale.
    const { added } = nodeChange(rows, requested, nodeMatcher(rows, servers, capacity));
    const presentMb = memoryForData(rows);
    for (const group of new Set(added)) {
      const memoryMb = capacity.memoryMb(group.memoryGib);
      if (!groupRunsDataService(group) || memoryMb >= presentMb) continue;
      const { totalMb, freeMb } = await quotaOf(client);
      if (memoryMb < totalMb - freeMb)
        throw invalid(
          `servers.${requested.indexOf(group)}.compute: gives a node ${memoryMb} MB, and the buckets take ${totalMb - freeMb} MB on each: ask for a larger instance, or shrink or delete buckets`,
        );
    }
  }

  private async write(
    transaction: Store,
    id: string,
    { requested, capacity, isBalanced }: ServerChange,
  ): Promise<string | null> {
    if (!(await lockRow(transaction, 'clusters', id))) throw notFound(`there is no cluster ${id}`);
    const row = await transaction
      .selectFrom('clusters')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    if (!managedPhases.includes(row.phase)) throw invalid(`cluster ${id} is ${row.phase}, not ready`);
    const spec = JSON.parse(row.spec) as ClusterSpec;
    const stored = {
      spec: JSON.stringify({ ...spec, servers: requested }),
      updated_at: this.options.clock.wallMs(),
    };
    if (row.phase === 'ready' && isBalanced && haveSameNodes(spec.servers, requested)) {
      if (stored.spec !== row.spec)
        await transaction.updateTable('clusters').set(stored).where('id', '=', id).execute();
      return null;
    }
    const change = await this.changeRows(transaction, row, spec, { requested, capacity });
    await transaction
      .updateTable('clusters')
      .set({ ...stored, phase: 'scaling', node_count: nodeCount(requested) })
      .where('id', '=', id)
      .execute();
    // An operation is still open if the process was killed after its last step, before its end was recorded. With two open operations of a
    // cluster the worker would cancel each of them, again and again, to run the other.
    await this.options.operations.supersede(transaction, id, 'the servers of the cluster are changed');
    return this.options.operations.add(transaction, {
      clusterId: id,
      projectId: row.project_id,
      kind: 'scale',
      firstStep: 'place',
      home: row.home,
      timeLimitMs: operationLimitMs(change.added.length + change.leaving.length),
    });
  }

  private async changeRows(
    transaction: Store,
    { id, home }: ClusterRow,
    spec: ClusterSpec,
    { requested, capacity }: Pick<ServerChange, 'requested' | 'capacity'>,
  ): Promise<NodeChange> {
    const { random } = this.options;
    const nodes = transaction.selectFrom('nodes').selectAll().where('cluster_id', '=', id);
    const rows = await nodes.orderBy('position').execute();
    const matches = nodeMatcher(rows, spec.servers, capacity);
    const change = nodeChange(rows, requested, matches);
    const [founder] = rows as [NodeRow];
    if (change.leaving.includes(founder)) {
      const present = spec.servers.find((group) => matches(founder, group));
      throw founderMustStay(present ?? (spec.servers.find(groupRunsDataService) as ServerGroup), requested);
    }
    await capacity.reserve(
      transaction,
      home,
      change.added.map((group) => ({ ...group, size: 1 })),
    );
    const firstPosition = Math.max(...rows.map(({ position }) => position)) + 1;
    const newNodes = { clusterId: id, home, groups: change.added, firstPosition };
    const added = newNodeRows(newNodes, { random, capacity });
    if (added.length > 0) await transaction.insertInto('nodes').values(added).execute();
    for (const node of change.leaving)
      await transaction.updateTable('nodes').set({ state: 'leaving' }).where('id', '=', node.id).execute();
    return change;
  }
}

/** Also true while the founder does not answer: a rebalance could not start now. */
async function isBalancedOrUnresponsive(founder: NodeClient): Promise<boolean> {
  try {
    return (await membershipOf(founder)).balanced;
  } catch (error) {
    if (error instanceof UnresponsiveNodeError) return true;
    throw error;
  }
}

/** True if the change concerns storage only. */
function haveSameNodes(present: readonly ServerGroup[], requested: readonly ServerGroup[]): boolean {
  const nodes = (groups: readonly ServerGroup[]): string =>
    groupOfEach(groups)
      .map((group) => `${serverReply(group).compute} ${group.services.toSorted().join()}`)
      .sort()
      .join('; ');
  return nodes(present) === nodes(requested);
}

/** The refusal if no requested group fits the founder, which cannot be replaced, since it stores the configuration of the cluster. */
function founderMustStay(founder: ServerGroup, requested: readonly ServerGroup[]): ApiError {
  const { compute, services } = serverReply(founder);
  // A v2 group may name no instance.
  const instance = compute === '' ? `an instance of ${founder.memoryGib} GiB` : `"${compute}"`;
  const index = requested.findIndex((group) => sameServices(group.services, services));
  if (index >= 0)
    return invalid(
      `servers.${index}.compute: must stay ${instance} for at least one node: the first node of a cluster cannot be given another instance; make a new cluster`,
    );
  const serviceNames = services.toSorted().join(', ');
  return invalid(
    `servers.0.services: must stay "${serviceNames}": at least one node keeps these services, since the first node of a cluster cannot be given others; make a new cluster`,
  );
}
