// Requests every route as a user of every role, and without credentials. The node must refuse a user exactly if the user lacks the permission
// that the route declares, by `checkPermissions`, or the roles. Finds handlers that check something else than their routes declare.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillPermission, parsePermission, permissionText } from '#auth/permission.ts';
import { rolesById } from '#auth/roles/index.ts';
import type { RouteDefinition } from '#contract/route.ts';
import { aManager } from '../../test/support/manager.ts';

const password = 'secret1';
/** Values of the parameters of paths that exist; each other parameter gets the value `absent`. */
const names: Readonly<Record<string, string>> = { bucket: 'b', scope: 's', collection: 'c' };
/** What follows the name of a role, by the level to which the role can be limited. */
const roleSuffixes = { cluster: '', bucket: '[b]', scope: '[b:s]', collection: '[b:s:c]' } as const;

const paramsOf = ({ path }: RouteDefinition): Record<string, string> =>
  Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, names[name] ?? 'absent']));
const urlOf = ({ path }: RouteDefinition): string =>
  path.replace(/:(\w+)\*?/g, (_whole, name: string) => names[name] ?? 'absent');

/** Whether the route answers for as long as its client listens: a request for it ends only if it is refused. */
const isEndless = ({ answer, path }: RouteDefinition): boolean =>
  answer?.stream === true || /streaming/i.test(path);

type Node = Awaited<ReturnType<typeof aManager>>;

/** Creates the user with these roles, and what requests with an earlier role deleted. */
async function prepare({ request }: Node, roles: string): Promise<void> {
  await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
  await request('/pools/default/buckets/b/scopes', { form: { name: 's' } });
  await request('/pools/default/buckets/b/scopes/s/collections', { form: { name: 'c' } });
  const form = { password, roles };
  const created = await request('/settings/rbac/users/local/matrix', { method: 'PUT', form });
  assert.equal(created.status, 200, `${roles}: ${created.text}`);
}

/** The permission that a route needs, as text; null: none. */
function permissionOf(route: RouteDefinition): string | null {
  if (route.access.kind !== 'permission') return null;
  const permission = parsePermission(route.access.permission);
  assert(permission);
  return permissionText(fillPermission(permission, paramsOf(route)));
}

/** The permissions that the node says the user has. */
async function granted({ request }: Node, permissions: readonly string[], as: string): Promise<Set<string>> {
  const checked = { method: 'POST', raw: permissions.join(','), as } as const;
  const { body } = await request('/pools/default/checkPermissions', checked);
  return new Set(
    Object.entries(body as Record<string, boolean>).flatMap(([text, has]) => (has ? [text] : [])),
  );
}

/** Whether the declaration of the route admits a user with this role and these permissions. */
function isAdmitted(route: RouteDefinition, role: string, has: ReadonlySet<string>): boolean {
  const { access } = route;
  if (access.kind === 'permission') return has.has(permissionOf(route) as string);
  if (access.kind !== 'roles') return true;
  return access.roles.some((named) => {
    const id = named.split('[')[0];
    return id === role || (id === 'security_admin' && role.startsWith('security_admin_'));
  });
}

test('the node answers every route to every role as its declaration says', async (t) => {
  const node = await aManager();
  const { request, server, manager } = node;
  t.after(() => manager.stop());
  // Buckets are deleted last, and what is in them before: a role for a bucket ends with the bucket.
  const order = ({ method, path }: RouteDefinition): number =>
    method === 'DELETE' && path.includes(':bucket') ? 1_000 - path.length : 0;
  const routes = server.routes.toSorted((a, b) => order(a) - order(b));
  const [firstRole] = rolesById.keys();
  const permissions = [...new Set(routes.flatMap((route) => permissionOf(route) ?? []))];
  const wrong: string[] = [];
  let tried = 0;
  for (const [role, { level }] of rolesById) {
    await prepare(node, `${role}${roleSuffixes[level]}`);
    const as = `matrix:${password}`;
    const has = await granted(node, permissions, as);
    for (const route of routes) {
      const isExpected = isAdmitted(route, role, has);
      if (isExpected && isEndless(route)) continue;
      // Open to anyone, and made anew for each request, which takes longer than many other requests.
      if (route.id === 'openapi.page' && role !== firstRole) continue;
      tried++;
      const { status } = await request(urlOf(route), { method: route.method, as });
      if ((status !== 401 && status !== 403) !== isExpected)
        wrong.push(`${role}: ${route.method} ${route.path}: ${status}`);
    }
  }
  for (const route of routes) {
    const isOpen = route.access.kind === 'anyone';
    if (isOpen && isEndless(route)) continue;
    const { status } = await request(urlOf(route), { method: route.method, as: null });
    if ((status !== 401) !== isOpen) wrong.push(`nobody: ${route.method} ${route.path}: ${status}`);
  }
  t.diagnostic(`${rolesById.size} roles, ${routes.length} routes, ${tried} requests`);
  assert.ok(tried > 5_000);
  assert.deepEqual(wrong, []);
});
