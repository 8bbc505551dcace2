// Who may call what: the sentences about roles in the specification, and every route with every administrative role by a table of
// permissions that is written here by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteDefinition } from '#contract/route.ts';
import { AccessGate } from '#http/access.ts';
import { aManager, type Sent } from '../../test/support/manager.ts';

const roles = {
  full: 'admin',
  readOnly: 'ro_admin',
  cluster: 'cluster_admin',
  local: 'security_admin_local',
  external: 'security_admin_external',
  bucket: 'bucket_admin[b]',
  xdcr: 'replication_admin',
  backup: 'backup_admin',
  eventing: 'eventing_admin',
} as const;
type Who = keyof typeof roles;
const everyone = Object.keys(roles) as Who[];
const security: Who[] = ['local', 'external'];

const password = 'secret1';
const as = (role: Who): string => `${role}:${password}`;

async function aNode() {
  const node = await aManager();
  for (const name of ['b', 'other']) {
    await node.request('/pools/default/buckets', { form: { name, ramQuotaMB: 100 } });
  }
  for (const who of everyone) {
    const form = { password, roles: roles[who] };
    const created = await node.request(`/settings/rbac/users/local/${who}`, { method: 'PUT', form });
    assert.equal(created.status, 200, created.text);
  }
  return node;
}

/** A sentence of the specification, the roles that it permits, and a request that tests it. */
const sentences: { sentence: string; may: readonly Who[]; url: string; sent?: Sent }[] = [
  {
    sentence: '4.2, rule 7: Full Admin and Cluster Admin set',
    may: ['full', 'cluster'],
    url: '/controller/setAutoCompaction',
    sent: { form: { parallelDBAndViewCompaction: 'false' } },
  },
  {
    sentence: '4.2, rule 7: Read-Only Admin reads',
    may: ['full', 'cluster', 'readOnly'],
    url: '/settings/autoCompaction',
  },
  {
    sentence: '4.3: Full Admin and Cluster Admin create buckets',
    may: ['full', 'cluster'],
    url: '/pools/default/buckets',
    sent: { form: { name: 'b', ramQuotaMB: 100 } },
  },
  {
    sentence: '4.3: Bucket Admin may edit its bucket',
    may: ['full', 'cluster', 'bucket'],
    url: '/pools/default/buckets/b',
    sent: { form: { ramQuotaMB: 100 } },
  },
  {
    sentence: '4.3: Bucket Admin may edit no other bucket',
    may: ['full', 'cluster'],
    url: '/pools/default/buckets/other',
    sent: { form: { ramQuotaMB: 100 } },
  },
  {
    sentence: '4.8: Full Admin or Security Admin set the password policy',
    may: ['full', ...security],
    url: '/settings/passwordPolicy',
    sent: { form: { minLength: 6 } },
  },
  {
    sentence: '4.10: Full, Cluster, Read Only or Security Admin read terse cluster info',
    may: ['full', 'cluster', 'readOnly', ...security],
    url: '/pools/default/terseClusterInfo',
  },
  {
    sentence: '4.11: Full Admin or Security Admin upload the root certificate',
    may: ['full', ...security],
    url: '/controller/uploadClusterCA',
    sent: { raw: 'none' },
  },
  {
    sentence: "only the Full Admin sets the Full Admin's credentials",
    may: ['full'],
    url: '/settings/web',
    sent: { form: { port: 'SAME', username: 'Administrator', password: 'a' } },
  },
  { sentence: '4.11: all roles read the root certificate', may: everyone, url: '/pools/default/certificate' },
];

test('each route allows exactly the roles that the specification names for it', async (t) => {
  const { request, manager } = await aNode();
  t.plan(sentences.length * everyone.length);
  for (const { sentence, may, url, sent } of sentences) {
    for (const who of everyone) {
      const { status } = await request(url, { ...sent, as: as(who) });
      const isAllowed = status !== 403 && status !== 401;
      t.assert.equal(isAllowed, may.includes(who), `${sentence}: ${who}: ${status}`);
    }
  }
  await manager.stop();
});

const memcached = '/pools/default/settings/memcached';
const selfPath = `${memcached}/node/self`;
const setting = { form: { verbosity: 0 } };
const memcachedReaders: readonly Who[] = ['full', 'cluster', ...security];

/** Routes that the specification does not mention, and the permitted roles. */
const unmentioned: { may: readonly Who[]; url: string; sent?: Sent }[] = [
  { may: ['full'], url: '/settings/clientAllowlist' },
  {
    may: ['full'],
    url: '/settings/clientAllowlist',
    sent: { method: 'PUT', json: { entries: ['127.0.0.1/32'] } },
  },
  { may: ['full'], url: '/settings/clientAllowlist', sent: { method: 'DELETE' } },
  { may: memcachedReaders, url: `${memcached}/global` },
  { may: memcachedReaders, url: selfPath },
  { may: memcachedReaders, url: `${selfPath}/setting/verbosity` },
  { may: memcachedReaders, url: `${memcached}/effective/self` },
  { may: ['full', 'cluster'], url: `${memcached}/global`, sent: setting },
  { may: ['full', 'cluster'], url: selfPath, sent: setting },
  { may: ['full', 'cluster'], url: `${selfPath}/setting/verbosity`, sent: { method: 'DELETE' } },
  { may: ['full', 'cluster', 'local'], url: '/internalSettings' },
  { may: ['full', 'cluster'], url: '/internalSettings', sent: { form: { maxBucketCount: 30 } } },
  { may: everyone, url: '/settings/maxParallelIndexers' },
  {
    may: ['full', 'cluster', 'backup'],
    url: '/settings/maxParallelIndexers',
    sent: { form: { globalValue: 4 } },
  },
  { may: everyone, url: '/ui/' },
  { may: everyone, url: '/openapi.json' },
  { may: everyone, url: '/docs/api' },
  { may: everyone, url: '/docs/' },
  { may: everyone, url: '/docs/images/console-query.webp' },
  { may: everyone, url: '/docs/search' },
  { may: everyone, url: '/docs/glossary' },
  { may: everyone, url: '/docs/guides/query' },
];

test('each route that the specification does not mention allows exactly the expected roles', async (t) => {
  const { request, manager } = await aNode();
  t.plan(unmentioned.length * (everyone.length + 1));
  for (const { may, url, sent } of unmentioned) {
    const title = `${sent?.method ?? (sent ? 'POST' : 'GET')} ${url}`;
    for (const who of everyone) {
      const { status } = await request(url, { ...sent, as: as(who) });
      const isAllowed = status !== 403 && status !== 401;
      t.assert.equal(isAllowed, may.includes(who), `${title}: ${who}: ${status}`);
    }
    const { status } = await request(url, { ...sent, as: null });
    const isOpen = url === '/ui/' || url === '/openapi.json' || url.startsWith('/docs/');
    t.assert.equal(status, isOpen ? 200 : 401, `${title}: without credentials`);
  }
  await manager.stop();
});

const managers: readonly Who[] = ['full', 'cluster', 'backup'];
const exporters: readonly Who[] = ['full', 'cluster', 'readOnly', ...security];
const bucketChangers: readonly Who[] = ['full', 'cluster', 'bucket', 'backup', 'eventing'];

/** The first row that matches decides. Bucket permissions are those of bucket `b`. */
const table: [RegExp, readonly Who[]][] = [
  [/^cluster\.pools!read$/, everyone],
  [/^cluster\.pools!write$/, managers],
  [/^cluster\.buckets!create$/, ['full', 'cluster', 'backup', 'eventing']],
  [/^cluster\.bucket\[.*\]\.recovery!write$/, bucketChangers],
  [/^cluster\.bucket\[.*\]\.(settings|stats|collections)!read$/, everyone],
  [/^cluster\.(bucket|scope|collection)\[.*\]\.(settings|collections)!write$/, bucketChangers],
  [/^cluster\.bucket\[.*\]!(delete|flush|compact)$/, bucketChangers],
  [/^cluster\.collection\[.*\]\.(collections|stats)!read$/, everyone],
  [/^cluster\.collection\[.*\]\.n1ql\.index!read$/, ['full', 'readOnly', 'backup', 'eventing']],
  [/^cluster\.settings(\.\w+)?!read$/, everyone],
  [/^cluster\.settings(\.\w+)?!write$/, managers],
  [/^cluster\.admin\.settings!read$/, ['full', 'cluster', 'local']],
  [/^cluster\.admin\.settings!write$/, ['full', 'cluster']],
  [/^cluster\.admin\.security!read$/, ['full', 'readOnly', ...security]],
  [/^cluster\.admin\.security\.admin!write$/, ['full']],
  [/^cluster\.admin\.security\.external!read$/, ['full', 'readOnly', 'external']],
  [/^cluster\.admin\.security\.local!write$/, ['full', 'local']],
  [/^cluster\.admin\.security\.external!write$/, ['full', 'external']],
  [/^cluster\.admin\.security!write$/, ['full', ...security]],
  [/^cluster\.admin\.setup!write$/, ['full', 'cluster']],
  [/^cluster\.admin\.memcached!read$/, ['full', 'cluster', ...security]],
  [/^cluster\.admin\.memcached!write$/, ['full', 'cluster']],
  [/^cluster\.(tasks|nodes|logs|samples)!read$/, everyone],
  [/^cluster\.admin\.logs!read$/, ['full', 'cluster']],
  [/^cluster\.admin\.stats_export!read$/, exporters],
  [/^cluster\.server_groups!read$/, everyone],
  [/^cluster\.server_groups!write$/, managers],
  [/^cluster\.xdcr\.(remote_clusters|settings)!read$/, ['full', 'readOnly', 'cluster', 'xdcr', 'backup']],
  [/^cluster\.xdcr\.(remote_clusters|settings)!write$/, ['full', 'cluster', 'xdcr', 'backup']],
  [/^cluster\.bucket\[.*\]\.xdcr!read$/, everyone.filter((who) => who !== 'eventing')],
  [/^cluster\.bucket\[.*\]\.xdcr!write$/, ['full', 'cluster', 'xdcr', 'backup']],
  [/^cluster\.bucket\[.*\]\.xdcr!execute$/, ['full', 'cluster', 'bucket', 'xdcr', 'backup']],
];

/** Permissions that are not in the table: roles of the data service decide about documents and views. */
const others = /\.data\.|\.views!/;

test('every administrative role may use exactly the routes that its permissions grant', async (t) => {
  const { manager } = await aNode();
  const routes = manager.routes.map(({ route }) => route);
  const gate = new AccessGate(manager.authority, routes);
  const wrong: string[] = [];
  let tried = 0;
  for (const route of routes) {
    const may = expected(route);
    for (const who of may === null ? [] : everyone) {
      tried++;
      const credentials = { kind: 'basic', name: who, password } as const;
      const verdict = await gate.decide(route, paramsOf(route), credentials, '127.0.0.1');
      const isAllowed = verdict.kind === 'passed';
      if (isAllowed !== may?.includes(who))
        wrong.push(`${who}: ${route.method} ${route.path}: ${verdict.kind}`);
    }
  }
  await manager.stop();
  t.diagnostic(`${routes.length} routes, ${tried} decisions`);
  assert.deepEqual(wrong, []);
});

/** Null: roles of the data service decide. */
function expected({ id, access }: RouteDefinition): readonly Who[] | null {
  if (access.kind === 'anyone' || access.kind === 'authenticated') return everyone;
  if (access.kind === 'roles') {
    return everyone.filter((who) => access.roles.some((role) => isRole(roles[who], role)));
  }
  if (others.test(access.permission)) return null;
  const row = table.find(([pattern]) => pattern.test(access.permission));
  assert(row, `${id}: no row of the table matches ${access.permission}`);
  return row[1];
}

const isRole = (ownRole: string, named: string): boolean =>
  ownRole.split('[')[0] === named.split('[')[0] ||
  (named === 'security_admin' && ownRole.startsWith('security_admin_'));

const paramsOf = ({ path }: RouteDefinition): Record<string, string> =>
  Object.fromEntries(
    [...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, name === 'bucket' ? 'b' : 'absent']),
  );
