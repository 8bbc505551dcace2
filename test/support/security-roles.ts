// A user with one security role after the other, and the HTTP statuses with which the node answers when that user reads or changes the
// security settings.
import type { aManager } from './manager.ts';

type Request = Awaited<ReturnType<typeof aManager>>['request'];

const expectedStatuses: readonly (readonly [roles: string, readStatus: number, writeStatus: number])[] = [
  ['admin', 200, 200],
  ['security_admin_local', 200, 200],
  ['security_admin_external', 200, 200],
  ['ro_admin', 200, 403],
  ['cluster_admin', 403, 403],
  ['bucket_admin[*]', 403, 403],
];
export const securityRoleCount = expectedStatuses.length;

/** Gives the user `u` one role after the other; yields its credentials (`as`) and the expected statuses. */
export async function* usersBySecurityRole(request: Request) {
  for (const [roles, readStatus, writeStatus] of expectedStatuses) {
    await request('/settings/rbac/users/local/u', { method: 'PUT', form: { password: 'secret', roles } });
    yield { as: 'u:secret', roles, readStatus, writeStatus };
  }
}
