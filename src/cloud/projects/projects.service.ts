// The rules of projects.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { Caller } from '../access/caller.ts';
import { invalid, notFound } from '../answers/api-error.ts';
import type { PageParameters, Sort } from '../answers/paging.ts';
import { lockLimit } from '../store/lock-limit.ts';
import { lockRow } from '../store/lock-row.ts';
import { pageOf } from '../store/page-of.ts';
import type { ProjectRow, Store } from '../store/tables.ts';
import type { projectSortKeys } from './projects.contract.ts';

export const projectsMax = 10_000;

export interface ProjectsOptions {
  store: Store;
  clock: Clock;
  random: Random;
}

export type ProjectSort = Sort<(typeof projectSortKeys)[number]>;

/** All projects have the same tenant, so sorting by tenant sorts by id. */
const columns = { id: 'id', name: 'name', tenantId: 'id', createdAt: 'created_at' } as const;

export class ProjectsService {
  private readonly options: ProjectsOptions;

  constructor(options: ProjectsOptions) {
    this.options = options;
  }

  list(caller: Caller, page: PageParameters, sort: ProjectSort | undefined) {
    const { key, direction } = sort ?? { key: 'createdAt', direction: 'asc' };
    const where = { id: caller.onlyProject };
    return pageOf(this.options.store, { table: 'projects', where, column: columns[key], direction }, page);
  }

  async create(name: string): Promise<ProjectRow> {
    const row = { id: this.options.random.uuid(), name, created_at: this.options.clock.wallMs() };
    await this.options.store.transaction().execute(async (transaction) => {
      await lockLimit(transaction, 'projects');
      const projects = transaction.selectFrom('projects');
      const { count } = await projects.select((e) => e.fn.countAll().as('count')).executeTakeFirstOrThrow();
      if (Number(count) >= projectsMax)
        throw invalid(
          `name: there are ${projectsMax} projects, which is the most there can be; delete others first`,
        );
      await transaction.insertInto('projects').values(row).execute();
    });
    return row;
  }

  /** Locks the row: a concurrent creation of a cluster comes first or finds no project. */
  async delete(id: string): Promise<void> {
    await this.options.store.transaction().execute(async (transaction) => {
      if (!(await lockRow(transaction, 'projects', id))) throw notFound(`there is no project ${id}`);
      const clusters = transaction.selectFrom('clusters').select('name').where('project_id', '=', id);
      const cluster = await clusters.limit(1).executeTakeFirst();
      if (cluster !== undefined)
        throw invalid(`project ${id} has clusters (such as "${cluster.name}"); delete them first`);
      await transaction.deleteFrom('projects').where('id', '=', id).execute();
    });
  }
}
