// Handlers for the organization's users.

import { cursorOf } from '../answers/paging.ts';
import { type BoundOperation, bind } from '../http/operation.ts';
import { pageOf } from '../store/page-of.ts';
import type { Store } from '../store/tables.ts';
import { ListOrganizationUsers } from './organization-users.contract.ts';

export const organizationUserOperations = (store: Store): BoundOperation[] => [
  bind(ListOrganizationUsers, async ({ query, url }) => {
    const { key, direction } = query.sortBy ?? { key: 'name', direction: 'asc' };
    const { rows, total } = await pageOf(store, { table: 'members', column: key, direction }, query);
    return {
      status: 200,
      body: {
        cursor: cursorOf(query, total, url),
        data: rows.map(({ id, name, email }) => ({ id, name, email })),
      },
    };
  }),
];
