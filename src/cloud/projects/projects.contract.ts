// Operations on projects, which contain clusters.
import { z } from 'zod';
import { component, dateOf, dateTime, text, uuidField } from '../answers/component.ts';
import { cursorSchema, pageQuery, sortBy } from '../answers/paging.ts';
import { defineOperation } from '../http/operation.ts';
import type { ProjectRow } from '../store/tables.ts';

export const projectSchema = component('Project', {
  id: uuidField(),
  name: text(1, 256),
  tenantId: uuidField(),
  createdAt: dateTime(),
});

export const createProjectRequest = component('CreateProjectRequest', { name: text(1, 128) });

export const projectSortKeys = ['id', 'name', 'tenantId', 'createdAt'] as const;

export const ListProjects = defineOperation({
  id: 'projects/list',
  method: 'GET',
  path: '/v2/projects',
  doc: 'Projects that the token may read.',
  access: 'token',
  needs: 'any',
  fromStore: true,
  query: z.strictObject({ ...pageQuery, sortBy: sortBy(projectSortKeys) }),
  replies: {
    200: {
      doc: 'A page',
      body: component('ListProjectsResponse', { cursor: cursorSchema, data: z.array(projectSchema) }),
    },
  },
});

export const CreateProject = defineOperation({
  id: 'projects/create',
  method: 'POST',
  path: '/v2/projects',
  doc: 'Creates a project.',
  access: 'token',
  needs: 'organization',
  body: createProjectRequest,
  replies: { 201: { doc: 'Created', body: projectSchema } },
});

export const ShowProject = defineOperation({
  id: 'projects/show',
  method: 'GET',
  path: '/v2/projects/{id}',
  subject: 'project',
  doc: 'One project.',
  access: 'token',
  malformedId: 422,
  fromStore: true,
  replies: { 200: { doc: 'The project', body: projectSchema } },
});

export const DeleteProject = defineOperation({
  id: 'projects/delete',
  method: 'DELETE',
  path: '/v2/projects/{id}',
  subject: 'project',
  doc: 'Deletes a project without clusters.',
  access: 'token',
  needs: 'organization',
  malformedId: 422,
  replies: { 204: { doc: 'Deleted' } },
});

export const projectReply = (row: ProjectRow, tenantId: string): z.output<typeof projectSchema> => ({
  id: row.id,
  name: row.name,
  tenantId,
  createdAt: dateOf(row.created_at),
});
