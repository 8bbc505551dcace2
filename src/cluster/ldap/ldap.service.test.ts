// Limits of connections to the LDAP server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { SettingsStore } from '../config/settings.store.ts';
import type { GroupsOutcome, LoginOutcome } from './directory-server.ts';
import { LdapService, ldapKeys } from './ldap.service.ts';
import { defaultLdapSettings } from './ldap-settings.ts';

/** A service whose LDAP server has accepted logins of `names`, and answers queries for groups when `answer` is called. */
async function aService(names: readonly string[]) {
  const server = { queries: 0, active: 0, most: 0, answer: () => {} };
  let wait = Promise.resolve();
  const directory = {
    login: async (): Promise<LoginOutcome> => ({ kind: 'accepted', dn: 'x' }),
    reach: async () => null,
    async groups(): Promise<GroupsOutcome> {
      server.queries++;
      server.most = Math.max(server.most, ++server.active);
      await wait;
      server.active--;
      return { kind: 'failed', reason: 'no connection' };
    },
  };
  const limits = { authenticationEnabled: true, authorizationEnabled: true, maxParallelConnections: 2 };
  const stored = { ...defaultLdapSettings, ...limits, hosts: ['h'], sealedPass: '', sealedKey: '' };
  const service = new LdapService({
    settings: { read: async () => stored } as never,
    keys: ldapKeys(new MemoryConfigStore()),
    secrets: { open: () => '' } as never,
    server: directory,
    clock: new ManualClock(),
    random: realRandom,
    log: silentLog,
    applied: async () => {},
  });
  for (const name of names) assert.equal(await service.verify(name, 'p'), true);
  Object.assign(server, { queries: 0, most: 0 });
  const { promise, resolve } = Promise.withResolvers<void>();
  wait = promise;
  server.answer = resolve;
  return { service, server };
}

/** Two nodes of a cluster; the LDAP server accepts all passwords and counts the logins. */
async function twoNodes() {
  const store = new MemoryConfigStore();
  const logins = { count: 0 };
  const server = {
    async login(): Promise<LoginOutcome> {
      logins.count++;
      return { kind: 'accepted', dn: 'x' };
    },
    reach: async () => null,
    groups: async (): Promise<GroupsOutcome> => ({ kind: 'found', groups: [] }),
  };
  const aNode = async (): Promise<LdapService> => {
    const service = new LdapService({
      settings: new SettingsStore(store),
      keys: ldapKeys(store),
      secrets: { open: () => '' } as never,
      server,
      clock: new ManualClock(),
      random: realRandom,
      log: silentLog,
      applied: async () => {},
    });
    await service.start();
    return service;
  };
  return { nodes: [await aNode(), await aNode()] as const, logins };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

test('logins of one name share a query for its groups', async () => {
  const { service, server } = await aService(['jane']);
  const logins = Array.from({ length: 50 }, () => service.verify('jane', 'p'));
  await soon();
  server.answer();
  assert.ok((await Promise.all(logins)).every(Boolean));
  assert.equal(server.queries, 1);
});

test('queries for groups count as connections: further ones are left out, and further logins refused', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const { service, server } = await aService(names);
  const logins = names.map((name) => service.verify(name, 'p'));
  await soon();
  assert.equal(await service.verify('e', 'p'), false);
  server.answer();
  assert.ok((await Promise.all(logins)).every(Boolean));
  assert.equal(server.most, 2);
  assert.equal(await service.verify('e', 'p'), true);
});

test('no node uses a cached login after another node changed the settings, or got the request to clear the caches', async (t) => {
  const { nodes, logins } = await twoNodes();
  const [one, other] = nodes;
  t.after(() => nodes.map((node) => node.stop()));
  const loginsAfter = async (change: () => Promise<unknown>): Promise<number> => {
    await change();
    await soon();
    const before = logins.count;
    assert.equal(await other.verify('jane', 'p'), true);
    return logins.count - before;
  };
  await one.change({ authenticationEnabled: true, hosts: ['h'] });
  assert.equal(await loginsAfter(async () => {}), 1);
  assert.equal(await loginsAfter(async () => {}), 0);
  assert.equal(await loginsAfter(() => one.change({ hosts: ['i'] })), 1);
  assert.equal(await loginsAfter(() => one.clearAllCaches()), 1);
});
