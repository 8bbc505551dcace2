// The rules of clusters. Writing what is wanted and adding the operation that makes it so is one transaction; nothing here
// touches a node.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { Caller } from '../access/caller.ts';
import { invalid, notFound } from '../http/goof.ts';
import type { Page, Sort } from '../http/paging.ts';
import type { OperationsStore } from '../operations/operations.store.ts';
import { hold } from '../store/hold.ts';
import { pageOf } from '../store/page-of.ts';
import type { ClusterRow, Store } from '../store/tables.ts';
import type { ClusterNodes } from './cluster-nodes.ts';
import { type ClusterSpec, nodeCount, refuseUnoffered, type ServerGroup } from './cluster-spec.ts';
import { scaledMemoryMb } from './instances.ts';
import type { clusterSortKeys } from './v2.contract.ts';

export type Environment = 'vpc' | 'hosted';

export interface ClusterWish {
  readonly environment: Environment;
  readonly name: string;
  readonly projectId: string;
  readonly cloudId: string | null;
  readonly description: string;
  readonly spec: ClusterSpec;
}

export interface Accepted {
  readonly clusterId: string;
  readonly operationId: string;
}

export interface ClusterFilter extends Page {
  readonly cloudId?: string | undefined;
  readonly projectId?: string | undefined;
}

export interface ClustersOptions {
  store: Store;
  operations: OperationsStore;
  nodes: ClusterNodes;
  home: string;
  /** Memory that all nodes together may have, in MB. */
  capacityMb: number;
  /** The share of an instance's memory that its node gets. */
  sizeScale: number;
  /** New operations wait. */
  wake: () => void;
  clock: Clock;
  random: Random;
}

const patienceMs = 120_000;
const sortColumns = {
  id: 'id',
  name: 'name',
  tenantId: 'id',
  cloudId: 'cloud_id',
  projectId: 'project_id',
  nodes: 'node_count',
} as const;

export class ClustersService {
  private readonly options: ClustersOptions;

  constructor(options: ClustersOptions) {
    this.options = options;
  }

  list(
    caller: Caller,
    filter: ClusterFilter,
    sort: Sort<(typeof clusterSortKeys)[number]> | undefined,
    environments: readonly Environment[],
  ) {
    let seen = this.options.store.selectFrom('clusters').where('environment', 'in', environments);
    if (caller.onlyProject !== null) seen = seen.where('project_id', '=', caller.onlyProject);
    if (filter.projectId !== undefined) caller.needRead(filter.projectId);
    if (filter.projectId !== undefined) seen = seen.where('project_id', '=', filter.projectId);
    if (filter.cloudId !== undefined) seen = seen.where('cloud_id', '=', filter.cloudId);
    const { key, direction } = sort ?? { key: 'name', direction: 'asc' };
    return pageOf(seen, filter, sortColumns[key], direction);
  }

  async create(wish: ClusterWish): Promise<Accepted> {
    refuseUnoffered(wish.spec.servers);
    const { store, clock, random, nodes, home } = this.options;
    const now = clock.wallMs();
    const row: ClusterRow = {
      id: random.uuid(),
      environment: wish.environment,
      name: wish.name,
      node_count: nodeCount(wish.spec.servers),
      project_id: wish.projectId,
      cloud_id: wish.cloudId,
      description: wish.description,
      spec: JSON.stringify(wish.spec),
      phase: 'scheduled',
      home,
      administrator_sealed: nodes.sealAdministrator({
        username: 'divan-operator',
        password: random.bytes(24).toString('base64url'),
      }),
      certificate: null,
      created_at: now,
      updated_at: now,
      deployed_at: null,
    };
    const operationId = await store.transaction().execute(async (transaction) => {
      await this.refuseUnknown(transaction, wish);
      await this.takeCapacity(transaction, wish.spec);
      await transaction.insertInto('clusters').values(row).execute();
      await this.addNodes(transaction, row, wish.spec);
      return this.options.operations.add(transaction, {
        clusterId: row.id,
        projectId: row.project_id,
        kind: 'create',
        firstStep: 'place',
        home,
        patienceMs,
      });
    });
    this.options.wake();
    return { clusterId: row.id, operationId };
  }

  /** Asked for again it is the same deletion. The work is that of the process that runs the cluster's nodes. */
  async delete({ id, project_id, home }: ClusterRow): Promise<Accepted> {
    const { store, operations, clock } = this.options;
    const operationId = await store.transaction().execute(async (transaction) => {
      // Written first: whoever deletes the same cluster at the same time waits here.
      const { numUpdatedRows } = await transaction
        .updateTable('clusters')
        .set({ phase: 'destroying', updated_at: clock.wallMs() })
        .where('id', '=', id)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) throw notFound(`there is no cluster ${id}`);
      const open = await operations.openDelete(transaction, id);
      if (open !== undefined) return open.id;
      await operations.supersede(transaction, id, 'the cluster is being deleted');
      return operations.add(transaction, {
        clusterId: id,
        projectId: project_id,
        kind: 'delete',
        firstStep: 'remove',
        home,
        patienceMs,
      });
    });
    this.options.wake();
    return { clusterId: id, operationId };
  }

  async rename(
    { id }: ClusterRow,
    { name, description }: { name?: string | undefined; description?: string | undefined },
  ): Promise<void> {
    await this.options.store
      .updateTable('clusters')
      .set({
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        updated_at: this.options.clock.wallMs(),
      })
      .where('id', '=', id)
      .execute();
  }

  /** What is left out stays. */
  async changeSupport(cluster: ClusterRow, change: object): Promise<void> {
    await this.changeSpec(cluster, (spec) => ({ ...spec, support: { ...(spec.support ?? {}), ...change } }));
  }

  /** `change` throws what cannot change. */
  async changeServers(
    cluster: ClusterRow,
    change: (present: readonly ServerGroup[]) => readonly ServerGroup[],
  ): Promise<void> {
    await this.changeSpec(cluster, (spec) => ({ ...spec, servers: change(spec.servers) }));
  }

  /** Where the cloud of a v2 cluster is, in v3's words. */
  async placeOf({ cloud_id }: ClusterRow): Promise<{ provider: string; region: string; CIDR: string }> {
    const clouds = this.options.store.selectFrom('clouds').select(['provider', 'region', 'cidr as CIDR']);
    return clouds.where('id', '=', cloud_id).executeTakeFirstOrThrow();
  }

  private async changeSpec({ id }: ClusterRow, change: (present: ClusterSpec) => ClusterSpec): Promise<void> {
    await this.options.store.transaction().execute(async (transaction) => {
      if (!(await hold(transaction, 'clusters', id))) throw notFound(`there is no cluster ${id}`);
      const clusters = transaction.selectFrom('clusters').select('spec').where('id', '=', id);
      const present = await clusters.executeTakeFirstOrThrow();
      const spec = JSON.stringify(change(JSON.parse(present.spec) as ClusterSpec));
      if (spec === present.spec) return;
      const updated_at = this.options.clock.wallMs();
      await transaction.updateTable('clusters').set({ spec, updated_at }).where('id', '=', id).execute();
    });
  }

  private async refuseUnknown(transaction: Store, { projectId, cloudId }: ClusterWish): Promise<void> {
    // Held, so that it is not deleted until its cluster is there.
    if (!(await hold(transaction, 'projects', projectId)))
      throw invalid(`projectId: there is no project ${projectId}`);
    if (cloudId === null) return;
    const cloud = await transaction
      .selectFrom('clouds')
      .select('status')
      .where('id', '=', cloudId)
      .executeTakeFirst();
    if (cloud === undefined) throw invalid(`cloudId: there is no cloud ${cloudId}`);
    if (cloud.status !== 'ready') throw invalid(`cloudId: cloud ${cloudId} is ${cloud.status}, not ready`);
  }

  /** Writing the row first makes creations wait for each other, so that two cannot take the same last memory. */
  private async takeCapacity(transaction: Store, spec: ClusterSpec): Promise<void> {
    await transaction
      .insertInto('facts')
      .values({ name: 'capacity', value: 'guards the sum of the nodes’ memory' })
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet({ value: 'guards the sum of the nodes’ memory' }),
      )
      .execute();
    const { used } = await transaction
      .selectFrom('nodes')
      .select((e) => e.fn.sum<number | null>('memory_mb').as('used'))
      .executeTakeFirstOrThrow();
    const free = this.options.capacityMb - Number(used ?? 0);
    const needed = spec.servers.reduce((sum, group) => sum + group.size * this.memoryMb(group.memoryGib), 0);
    if (needed > free)
      throw invalid(
        `servers: this cluster would take ${needed} MB and ${free} of ${this.options.capacityMb} MB are free; delete clusters or ask for less`,
      );
  }

  private async addNodes(transaction: Store, cluster: ClusterRow, spec: ClusterSpec): Promise<void> {
    const groups = spec.servers.flatMap((group) => Array.from({ length: group.size }, () => group));
    await transaction
      .insertInto('nodes')
      .values(
        groups.map((group, position) => ({
          id: this.options.random.uuid(),
          cluster_id: cluster.id,
          position,
          memory_mb: this.memoryMb(group.memoryGib),
          services: JSON.stringify(group.services),
          address: '',
          ports: '',
          home: cluster.home,
        })),
      )
      .execute();
  }

  private memoryMb(instanceGib: number): number {
    return scaledMemoryMb(instanceGib, this.options.sizeScale);
  }
}
