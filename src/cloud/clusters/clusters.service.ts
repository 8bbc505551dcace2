// Lists and changes the rows of clusters, for requests that need no answer of a node.
import type { Clock } from '#ports/clock.ts';
import type { Caller } from '../access/caller.ts';
import { notFound } from '../answers/api-error.ts';
import type { PageParameters, Sort } from '../answers/paging.ts';
import { lockRow } from '../store/lock-row.ts';
import { pageOf } from '../store/page-of.ts';
import type { ClusterRow, Store } from '../store/tables.ts';
import type { ClusterSpec, Environment } from './cluster-spec.ts';
import type { clusterSortKeys } from './v2.contract.ts';

export interface ClusterFilter extends PageParameters {
  readonly cloudId?: string | undefined;
  readonly projectId?: string | undefined;
}

const sortColumns = {
  id: 'id',
  name: 'name',
  tenantId: 'id', // one tenant: any order
  cloudId: 'cloud_id',
  projectId: 'project_id',
  nodes: 'node_count',
} as const;

export class ClustersService {
  private readonly options: { store: Store; clock: Clock };

  constructor(options: { store: Store; clock: Clock }) {
    this.options = options;
  }

  list(
    caller: Caller,
    filter: ClusterFilter,
    sort: Sort<(typeof clusterSortKeys)[number]> | undefined,
    environments: readonly Environment[],
  ) {
    if (filter.projectId !== undefined) caller.requireRead(filter.projectId);
    const where = {
      environment: environments,
      project_id: filter.projectId ?? caller.onlyProject,
      cloud_id: filter.cloudId,
    };
    const { key, direction } = sort ?? { key: 'name', direction: 'asc' };
    const column = sortColumns[key];
    return pageOf(this.options.store, { table: 'clusters', where, column, direction }, filter);
  }

  /** Omitted fields stay unchanged. */
  async changeDetails(
    { id }: ClusterRow,
    { name, description }: { name?: string | undefined; description?: string | undefined },
  ): Promise<void> {
    const { numUpdatedRows } = await this.options.store
      .updateTable('clusters')
      .set({
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        updated_at: this.options.clock.wallMs(),
      })
      .where('id', '=', id)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw notFound(`there is no cluster ${id}`);
  }

  /** Changes the stored support plan, which has no effect. Omitted fields stay unchanged. */
  async changeSupport(cluster: ClusterRow, change: object): Promise<void> {
    await this.changeSpec(cluster, (spec) => ({ ...spec, support: { ...(spec.support ?? {}), ...change } }));
  }

  /** Provider, region and network of a v2 cluster, in the form of v3. */
  async placeOf({ cloud_id }: ClusterRow): Promise<{ provider: string; region: string; CIDR: string }> {
    const clouds = this.options.store.selectFrom('clouds').select(['provider', 'region', 'cidr as CIDR']);
    return clouds.where('id', '=', cloud_id).executeTakeFirstOrThrow();
  }

  private async changeSpec({ id }: ClusterRow, change: (present: ClusterSpec) => ClusterSpec): Promise<void> {
    await this.options.store.transaction().execute(async (transaction) => {
      if (!(await lockRow(transaction, 'clusters', id))) throw notFound(`there is no cluster ${id}`);
      const clusters = transaction.selectFrom('clusters').select('spec').where('id', '=', id);
      const present = await clusters.executeTakeFirstOrThrow();
      const spec = JSON.stringify(change(JSON.parse(present.spec) as ClusterSpec));
      if (spec === present.spec) return;
      const updated_at = this.options.clock.wallMs();
      await transaction.updateTable('clusters').set({ spec, updated_at }).where('id', '=', id).execute();
    });
  }
}
