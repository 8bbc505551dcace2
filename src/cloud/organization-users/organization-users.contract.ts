// The organization's users: people, not users of databases. The operator adds them; the API lists them.
import { z } from 'zod';
import { component, uuidField } from '../answers/component.ts';
import { cursorSchema, pageQuery, sortBy } from '../answers/paging.ts';
import { defineOperation } from '../http/operation.ts';

const organizationUserSchema = component('ListUsersResponseItem', {
  id: uuidField(),
  name: z.string(),
  email: z.string(),
});

export const organizationUserSortKeys = ['id', 'name', 'email'] as const;

export const ListOrganizationUsers = defineOperation({
  id: 'users/list',
  method: 'GET',
  path: '/v2/users',
  doc: 'The organization’s users.',
  access: 'token',
  needs: 'readAll',
  fromStore: true,
  query: z.strictObject({ ...pageQuery, sortBy: sortBy(organizationUserSortKeys) }),
  replies: {
    200: {
      doc: 'A page',
      body: component('ListUsersResponse', { cursor: cursorSchema, data: z.array(organizationUserSchema) }),
    },
  },
});
