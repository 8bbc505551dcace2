// The rules of projects.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { Caller } from '../access/caller.ts';
import { invalid } from '../http/goof.ts';
import type { Page, Sort } from '../http/paging.ts';
import { pageOf } from '../store/page-of.ts';
import type { ProjectRow, Store } from '../store/tables.ts';
import type { projectSortKeys } from './projects.contract.ts';

export interface ProjectsOptions {
  store: Store;
  clock: Clock;
  random: Random;
}

export type ProjectSort = Sort<(typeof projectSortKeys)[number]>;

/** All projects have the same tenant: the id decides their order. */
const columns = { id: 'id', name: 'name', tenantId: 'id', createdAt: 'created_at' } as const;

export class ProjectsService {
  private readonly options: ProjectsOptions;

  constructor(options: ProjectsOptions) {
    this.options = options;
  }

  list(caller: Caller, page: Page, sort: ProjectSort | undefined) {
    const all = this.options.store.selectFrom('projects');
    const seen = caller.onlyProject === null ? all : all.where('id', '=', caller.onlyProject);
    const { key, direction } = sort ?? { key: 'createdAt', direction: 'asc' };
    return pageOf(seen, page, columns[key], direction);
  }

  async create(name: string): Promise<ProjectRow> {
    const row = { id: this.options.random.uuid(), name, created_at: this.options.clock.wallMs() };
    await this.options.store.insertInto('projects').values(row).execute();
    return row;
  }

  async delete(id: string): Promise<void> {
    const clusters = await this.options.store
      .selectFrom('clusters')
      .select('name')
      .where('project_id', '=', id)
      .limit(1)
      .execute();
    if (clusters[0] !== undefined)
      throw invalid(`project ${id} has clusters (such as "${clusters[0].name}"); delete them first`);
    await this.options.store.deleteFrom('projects').where('id', '=', id).execute();
  }
}
