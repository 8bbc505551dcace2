import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Authority, Caller } from '#auth/authority.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import { AccessGate } from './access.ts';

const caller = (name: string): Caller => ({
  identity: { name, domain: name === '' ? 'anonymous' : 'local' },
  hasRoles: false,
  permits: () => false,
  holds: () => false,
});

const authority: Authority = {
  isProvisioned: () => true,
  anonymous: caller(''),
  byCertificate: () => null,
  authenticate: async ({ name, password }) => (password === 'right' ? caller(name) : null),
};

test('users without roles get the same answer as unknown users, except at a port that distinguishes them', async () => {
  const decide = async (forbidsRoleless: boolean, access: Access, password: string | null) => {
    const route = defineRoute({ id: 'a', method: 'GET', path: '/a', access, doc: '' });
    const gate = new AccessGate(authority, [route], forbidsRoleless);
    const credentials =
      password === null ? { kind: 'none' as const } : { kind: 'basic' as const, name: 'user', password };
    return (await gate.decide(route, {}, credentials, '127.0.0.1')).kind;
  };
  const settings: Access = { kind: 'permission', permission: 'cluster.settings!read' };
  assert.equal(await decide(true, settings, 'right'), 'forbidden');
  assert.equal(await decide(true, { kind: 'authenticated' }, 'right'), 'passed');
  for (const access of [settings, { kind: 'authenticated' } as const]) {
    assert.equal(await decide(false, access, 'right'), 'unauthenticated');
    for (const forbidsRoleless of [true, false]) {
      assert.equal(await decide(forbidsRoleless, access, 'wrong'), 'unauthenticated');
      assert.equal(await decide(forbidsRoleless, access, null), 'unauthenticated');
    }
  }
});
