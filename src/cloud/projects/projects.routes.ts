// Handlers for projects.

import { cursorOf } from '../answers/paging.ts';
import { type BoundOperation, bind } from '../http/operation.ts';
import {
  CreateProject,
  DeleteProject,
  ListProjects,
  projectReply,
  ShowProject,
} from './projects.contract.ts';
import type { ProjectsService } from './projects.service.ts';

export const projectOperations = (projects: ProjectsService, tenantId: string): BoundOperation[] => [
  bind(ListProjects, async ({ caller, query, url }) => {
    const { rows, total } = await projects.list(caller, query, query.sortBy);
    return {
      status: 200,
      body: { cursor: cursorOf(query, total, url), data: rows.map((row) => projectReply(row, tenantId)) },
    };
  }),
  bind(CreateProject, async ({ body }) => ({
    status: 201,
    body: projectReply(await projects.create(body.name), tenantId),
  })),
  bind(ShowProject, async ({ subject: project }) => ({ status: 200, body: projectReply(project, tenantId) })),
  bind(DeleteProject, async ({ subject: project }) => {
    await projects.delete(project.id);
    return { status: 204 };
  }),
];
