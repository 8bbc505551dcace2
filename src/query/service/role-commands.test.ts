import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedQueue } from '#ports/keyed-queue.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { NodeRest } from '../state/parts.ts';
import type { CommandContext } from './command-context.ts';
import { changeRoles } from './role-commands.ts';

test('GRANT and REVOKE change local and external users, and keep what else they have', async () => {
  const requests: string[] = [];
  const shown = [{}, { name: '' }, { name: 'C', groups: ['g', 'h'] }, {}];
  const request = (...[, method, path, fields]: Parameters<NodeRest['request']>) => {
    requests.push(`${method} ${path} ${JSON.stringify(fields ?? {})}`);
    return Promise.resolve({ status: 200, body: method === 'GET' ? JSON.stringify(shown.shift()) : '' });
  };
  const scope = {
    service: { deps: { rest: { request }, clock: new ManualClock() }, roleChanges: new KeyedQueue() },
    session: { credential: {} },
  };
  const users = ['ann', 'local:bob', 'external:c@d', 'e:f'];
  await changeRoles(
    { kind: 'GRANT_ROLE', roles: ['admin'], targets: [], users } as never,
    scope as unknown as CommandContext,
  );
  const roles = 'admin';
  const changes = [
    ['local/ann', { roles }],
    ['local/bob', { roles, name: '' }],
    ['external/c%40d', { roles, name: 'C', groups: 'g,h' }],
    ['local/e%3Af', { roles }],
  ] as const;
  assert.deepEqual(
    requests,
    changes.flatMap(([user, fields]) => [
      `GET /settings/rbac/users/${user} {}`,
      `PUT /settings/rbac/users/${user} ${JSON.stringify(fields)}`,
    ]),
  );
});

test('statements at the same time, also of two nodes, all change the roles of a user', async () => {
  let roles: { role: string }[] = [];
  let refused = 0;
  const request: NodeRest['request'] = async (_credential, method, _path, fields, tag) => {
    const found = { status: 200, body: JSON.stringify({ roles }), tag: `"${roles.length}"` };
    await new Promise((resolve) => setImmediate(resolve));
    if (method === 'GET') return found;
    if (tag !== `"${roles.length}"`) return { status: 412, body: `changed ${++refused} times` };
    roles = String(fields?.['roles'])
      .split(',')
      .map((role) => ({ role }));
    return { status: 200, body: '' };
  };
  const clock = new ManualClock();
  const aNode = () => ({
    service: { deps: { rest: { request }, clock }, roleChanges: new KeyedQueue() },
    session: { credential: {} },
  });
  const nodes = [aNode(), aNode()];
  const grant = (role: string, node: number) =>
    changeRoles(
      { kind: 'GRANT_ROLE', roles: [role], targets: [], users: ['ann'] } as never,
      nodes[node] as unknown as CommandContext,
    );
  const granted = Promise.all([grant('admin', 0), grant('ro_admin', 0), grant('cluster_admin', 1)]);
  await until(granted, clock);
  const names = ['admin', 'cluster_admin', 'ro_admin'];
  assert.deepEqual(roles.map(({ role }) => role).sort(), names);
  assert.ok(refused > 0);
  const stale = (...[, method]: Parameters<NodeRest['request']>) =>
    Promise.resolve({ status: method === 'GET' ? 200 : 412, body: method === 'GET' ? '{}' : 'changed' });
  nodes[0] = { ...aNode(), service: { ...aNode().service, deps: { rest: { request: stale }, clock } } };
  await assert.rejects(until(grant('admin', 0), clock), /The roles of ann cannot be changed: changed/);
});

/** Lets time pass until the promise has settled. */
async function until<T>(promise: Promise<T>, clock: ManualClock): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => (isSettled = true));
  settled.catch(() => {});
  while (!isSettled) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(20);
  }
  return settled;
}
