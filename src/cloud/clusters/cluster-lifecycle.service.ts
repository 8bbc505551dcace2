// Creates and deletes clusters: one transaction writes the desired state and adds the operation that reaches it. The worker does
// the rest; nothing here sends requests to nodes.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import { invalid, notFound } from '../answers/api-error.ts';
import type { OperationsStore } from '../operations/operations.store.ts';
import { lockRow } from '../store/lock-row.ts';
import type { ClusterRow, Store } from '../store/tables.ts';
import type { Capacity } from './capacity.ts';
import type { ClusterNodes } from './cluster-nodes.ts';
import {
  type ClusterSpec,
  type Environment,
  nodeCount,
  operationLimitMs,
  refuseOtherProviders,
  refuseUnoffered,
} from './cluster-spec.ts';
import { groupOfEach, newNodeRows } from './node-rows.ts';

export interface ClusterRequest {
  readonly environment: Environment;
  readonly name: string;
  readonly projectId: string;
  readonly cloudId: string | null;
  readonly description: string;
  readonly spec: ClusterSpec;
}

export interface AcceptedOperation {
  readonly clusterId: string;
  readonly operationId: string;
}

export interface ClusterLifecycleOptions {
  store: Store;
  operations: OperationsStore;
  nodes: ClusterNodes;
  capacity: Capacity;
  home: string;
  /** Called when a new operation is due. */
  wake: () => void;
  clock: Clock;
  random: Random;
}

export class ClusterLifecycleService {
  private readonly options: ClusterLifecycleOptions;

  constructor(options: ClusterLifecycleOptions) {
    this.options = options;
  }

  async create(request: ClusterRequest): Promise<AcceptedOperation> {
    refuseUnoffered(request.spec.servers);
    const { store, clock, random, nodes, home, capacity } = this.options;
    const nowMs = clock.wallMs();
    const row: ClusterRow = {
      id: random.uuid(),
      environment: request.environment,
      name: request.name,
      node_count: nodeCount(request.spec.servers),
      project_id: request.projectId,
      cloud_id: request.cloudId,
      description: request.description,
      spec: JSON.stringify(request.spec),
      phase: 'scheduled',
      home,
      administrator_sealed: nodes.sealAdministrator({
        username: 'divan-operator',
        password: random.bytes(24).toString('base64url'),
      }),
      certificate: null,
      created_at: nowMs,
      updated_at: nowMs,
      deployed_at: null,
    };
    const operationId = await store.transaction().execute(async (transaction) => {
      await this.requireProjectAndCloud(transaction, request);
      await capacity.reserve(transaction, home, request.spec.servers);
      await transaction.insertInto('clusters').values(row).execute();
      const groups = groupOfEach(request.spec.servers);
      const added = { clusterId: row.id, home, groups, firstPosition: 0 };
      await transaction.insertInto('nodes').values(newNodeRows(added, this.options)).execute();
      return this.options.operations.add(transaction, {
        clusterId: row.id,
        projectId: row.project_id,
        kind: 'create',
        firstStep: 'place',
        home,
        timeLimitMs: operationLimitMs(row.node_count),
      });
    });
    this.options.wake();
    return { clusterId: row.id, operationId };
  }

  /** A repeated request returns the same deletion. */
  async delete({ id, project_id, home, node_count }: ClusterRow): Promise<AcceptedOperation> {
    const { store, operations, clock } = this.options;
    const operationId = await store.transaction().execute(async (transaction) => {
      // Written first, so that concurrent deletions of the cluster wait here.
      const { numUpdatedRows } = await transaction
        .updateTable('clusters')
        .set({ phase: 'destroying', updated_at: clock.wallMs() })
        .where('id', '=', id)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) throw notFound(`there is no cluster ${id}`);
      const open = await operations.deletionInProgress(transaction, id);
      if (open !== undefined) return open.id;
      await operations.supersede(transaction, id, 'the cluster is being deleted');
      return operations.add(transaction, {
        clusterId: id,
        projectId: project_id,
        kind: 'delete',
        firstStep: 'remove',
        home,
        timeLimitMs: operationLimitMs(node_count),
      });
    });
    this.options.wake();
    return { clusterId: id, operationId };
  }

  private async requireProjectAndCloud(
    transaction: Store,
    { projectId, cloudId, spec }: ClusterRequest,
  ): Promise<void> {
    // Lock the project, so that it cannot be deleted before its cluster exists.
    if (!(await lockRow(transaction, 'projects', projectId)))
      throw invalid(`projectId: there is no project ${projectId}`);
    if (cloudId === null) return;
    const cloud = await transaction
      .selectFrom('clouds')
      .select(['id', 'provider', 'status'])
      .where('id', '=', cloudId)
      .executeTakeFirst();
    if (cloud === undefined) throw invalid(`cloudId: there is no cloud ${cloudId}`);
    if (cloud.status !== 'ready') throw invalid(`cloudId: cloud ${cloudId} is ${cloud.status}, not ready`);
    refuseOtherProviders(spec.servers, cloud);
  }
}
