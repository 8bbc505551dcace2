import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedQueue } from '#ports/keyed-queue.ts';
import type { CommandContext } from './command-context.ts';
import { changeRoles } from './role-commands.ts';

test('GRANT and REVOKE change local and external users and groups', async () => {
  const requests: string[] = [];
  const request = (_credential: object, method: string, path: string) => {
    requests.push(`${method} ${path}`);
    return Promise.resolve({ status: 200, body: '{}' });
  };
  const scope = {
    service: { deps: { rest: { request } }, roleChanges: new KeyedQueue() },
    session: { credential: {} },
  };
  const users = ['ann', 'local:bob', 'external:c@d', 'e:f'];
  await changeRoles(
    { kind: 'GRANT_ROLE', roles: ['admin'], targets: [], users, groups: ['g'] } as never,
    scope as unknown as CommandContext,
  );
  const paths = [
    'users/local/ann',
    'users/local/bob',
    'users/external/c%40d',
    'users/local/e%3Af',
    'groups/g',
  ];
  assert.deepEqual(
    requests,
    paths.flatMap((path) => [`GET /settings/rbac/${path}`, `PUT /settings/rbac/${path}`]),
  );
});

test('statements at the same time all change the roles of a user', async () => {
  let roles: { role: string }[] = [];
  const request = async (_credential: object, method: string, _path: string, fields?: { roles: string }) => {
    const body = JSON.stringify({ roles });
    await new Promise((resolve) => setImmediate(resolve));
    if (method === 'PUT') roles = (fields?.roles ?? '').split(',').map((role) => ({ role }));
    return { status: 200, body };
  };
  const scope = {
    service: { deps: { rest: { request } }, roleChanges: new KeyedQueue() },
    session: { credential: {} },
  };
  const names = ['admin', 'ro_admin', 'cluster_admin'];
  const granted = names.map((role) =>
    changeRoles(
      { kind: 'GRANT_ROLE', roles: [role], targets: [], users: ['ann'], groups: [] } as never,
      scope as unknown as CommandContext,
    ),
  );
  await Promise.all(granted);
  assert.deepEqual(
    roles.map(({ role }) => role),
    names,
  );
});
