// The role catalog.
import { administration, buckets } from './administration.ts';
import {
  data,
  mobile,
  monitoringAndEventing,
  query,
  replicationAndAnalytics,
  search,
} from './application.ts';
import type { RoleDefinition } from './definition.ts';

/** Every role, in the order in which lists show them. */
export const roleCatalog: readonly RoleDefinition[] = [
  ...administration,
  ...buckets,
  ...data,
  ...search,
  ...query,
  ...replicationAndAnalytics,
  ...mobile,
  ...monitoringAndEventing,
];

export const rolesById: ReadonlyMap<string, RoleDefinition> = new Map(
  roleCatalog.map((role) => [role.id, role]),
);
