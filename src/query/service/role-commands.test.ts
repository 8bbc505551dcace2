import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommandContext } from './command-context.ts';
import { changeRoles } from './role-commands.ts';

test('GRANT and REVOKE change local and external users and groups', async () => {
  const requests: string[] = [];
  const request = (_credential: object, method: string, path: string) => {
    requests.push(`${method} ${path}`);
    return Promise.resolve({ status: 200, body: '{}' });
  };
  const scope = { service: { deps: { rest: { request } } }, session: { credential: {} } };
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
