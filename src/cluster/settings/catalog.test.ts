import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BoundRoute, Context, Input } from '#contract/route.ts';
import { aManager } from '../../../test/support/manager.ts';
import { settingsCatalog } from './catalog.ts';
import { securitySettings } from './security-settings.ts';
import { missingFeatures } from './setting.ts';

/** Routes whose fields are no settings: those of users, groups, scopes, collections and documents, joining and rebalancing. */
const routesWithoutSettings =
  /^(users|groups|collections|documents|collection_documents|joining|server_groups|rebalance|node_failover)\./;

const namesOf = (route: string): Set<string> =>
  new Set(
    settingsCatalog
      .filter(({ routes }) => routes.includes(route))
      .flatMap(({ settings }) => settings.map(({ name }) => name)),
  );

/** A form that records which fields are read. */
function watched(fields: Record<string, string>, read: Set<string>): Record<string, string> {
  return new Proxy(fields, {
    get(target, name) {
      if (typeof name === 'string') read.add(name);
      return Object.hasOwn(target, name) ? target[name as string] : undefined;
    },
  });
}

const context = { may: () => true, localAddress: '127.0.0.1' } as unknown as Context;

/** The fields that the handler of a form reads, also if it refuses the form. */
async function fieldsRead(bound: BoundRoute, fields: Record<string, string>): Promise<Set<string>> {
  const read = new Set<string>();
  const params = { bucket: 'b', node: 'self' };
  const input = { params, query: {}, body: watched(fields, read), justValidate: false };
  await Promise.resolve()
    .then(() => bound.handler(input as unknown as Input<never, never>, context))
    .catch(() => {});
  return read;
}

const compaction = { autoCompactionDefined: 'true', parallelDBAndViewCompaction: 'false' };
/** Forms that together pass the first checks of all handlers. */
const forms: Record<string, string>[] = [
  {},
  { afamily: 'ipv4' },
  { name: 'b', ramQuotaMB: '100', ...compaction },
  { name: 'e', ramQuotaMB: '100', bucketType: 'ephemeral' },
  { enabled: 'true', recipients: 'a@b' },
  { enabled: 'true', 'failoverOnDataDiskIssues[enabled]': 'true' },
  { port: 'SAME', username: 'Administrator', password: 'password' },
];

/** The handler reads every sent port, so the form has the ports of this version. */
const alternate = {
  hostname: 'h',
  mgmt: '8091',
  mgmtSSL: '8092',
  kv: '8093',
  kvSSL: '8094',
  capi: '8095',
  capiSSL: '8096',
};

/** The handler reads keys by path, so the form has all of them. */
const security = Object.fromEntries(
  securitySettings.flatMap(({ settings }) => settings.map(({ name }) => [name, 'x'])),
);

function formsOf(route: string): Record<string, string>[] {
  if (route === 'security.set') return [security];
  return route === 'provisioning.alternate' ? [alternate] : forms;
}

/** A threshold without brackets is read only to be refused. */
const refused = ['databaseFragmentationThreshold', 'viewFragmentationThreshold'];

async function readByRoute(): Promise<Map<string, Set<string>>> {
  const all = new Map<string, Set<string>>();
  for (const edition of ['enterprise', 'community'] as const) {
    const { manager } = await aManager({ edition, provisioned: false });
    for (const bound of manager.routes) {
      if (
        !['form', 'anyForm'].includes(bound.route.bodyKind ?? 'none') ||
        routesWithoutSettings.test(bound.route.id)
      )
        continue;
      const names = all.get(bound.route.id) ?? new Set();
      all.set(bound.route.id, names);
      for (const form of formsOf(bound.route.id))
        for (const name of await fieldsRead(bound, form)) names.add(name);
      for (const name of refused) names.delete(name);
    }
  }
  return all;
}

describe('the settings catalog', () => {
  it('has every parameter that a handler of settings reads, and none that no handler reads', async () => {
    const read = await readByRoute();
    assert.ok(read.size > 10);
    for (const [route, names] of read) {
      const unlisted = [...names].filter((name) => !namesOf(route).has(name));
      assert.deepEqual(unlisted, [], `${route} reads what is not in the catalog`);
    }
    for (const { title, routes, settings } of settingsCatalog) {
      const idle = settings.filter(({ name }) => !routes.some((route) => read.get(route)?.has(name)));
      assert.deepEqual(
        idle.map(({ name }) => name),
        [],
        `${title}: nothing reads this`,
      );
    }
  });

  it('names each entry of missingFeatures as the effect of at least one parameter', () => {
    const effects = new Set<string>(
      settingsCatalog.flatMap(({ settings }) => settings.map(({ effect }) => effect)),
    );
    assert.deepEqual(
      Object.keys(missingFeatures).filter((feature) => !effects.has(feature)),
      [],
    );
  });

  it('names only existing routes', async () => {
    const ids = new Set((await aManager({ provisioned: false })).manager.routes.map(({ route }) => route.id));
    for (const { title, routes } of settingsCatalog) {
      for (const route of routes) assert.ok(ids.has(route), `${title}: ${route}`);
    }
  });

  it('names a parameter once per group', () => {
    for (const { title, settings } of settingsCatalog) {
      assert.equal(new Set(settings.map(({ name }) => name)).size, settings.length, title);
    }
  });
});
