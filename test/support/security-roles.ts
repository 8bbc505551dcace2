// The roles that differ in their access to the security settings, and the HTTP statuses that reading and changing them answer.
import type { aManager } from './manager.ts';

type Request = Awaited<ReturnType<typeof aManager>>['request'];

const expectedStatuses: readonly (readonly [roles: string, read: number, write: number])[] = [
  ['admin', 200, 200],
  ['security_admin_local', 200, 200],
  ['security_admin_external', 200, 200],
  ['ro_admin', 200, 403],
  ['cluster_admin', 403, 403],
  ['bucket_admin[*]', 403, 403],
];
export const securityRoleCount = expectedStatuses.length;

/** Gives the user `u` one role after the other; yields the expected statuses of its requests with that role. */
export async function* securityUsers(request: Request) {
  for (const [roles, read, write] of expectedStatuses) {
    await request('/settings/rbac/users/local/u', { method: 'PUT', form: { password: 'secret', roles } });
    yield { as: 'u:secret', roles, read, write };
  }
}
