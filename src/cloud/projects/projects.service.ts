// The rules of projects.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { Caller } from '../access/caller.ts';
import { forbidden, invalid, notFound } from '../http/goof.ts';
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

  async create(caller: Caller, name: string): Promise<ProjectRow> {
    caller.needOrganization('creating a project');
    const row = { id: this.options.random.uuid(), name, created_at: this.options.clock.wallMs() };
    await this.options.store.insertInto('projects').values(row).execute();
    return row;
  }

  /** 404 for those who see everything, 403 for those who see one project: others learn nothing of what exists. */
  async show(caller: Caller, id: string): Promise<ProjectRow> {
    const row = await this.options.store
      .selectFrom('projects')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
    if (!caller.mayRead(id)) throw forbidden(`this token has no role in project ${id}`);
    if (row === undefined) throw notFound(`there is no project ${id}`);
    return row;
  }

  async delete(caller: Caller, id: string): Promise<void> {
    caller.needOrganization('deleting a project');
    await this.show(caller, id);
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
