import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { BoundRoute } from '#contract/route.ts';
import { aManager, type ManagerOptions, type Sent } from '../../../test/support/manager.ts';
import { MemoryJournal } from '../../../test/support/memory-journal.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { windowMs } from './denials.ts';

interface Shown {
  event_id: number;
  description: string;
  extra_attributes?: Record<string, unknown>;
}

async function aNode(t: TestContext, options: ManagerOptions = {}) {
  const node = await aManager(options);
  t.after(() => node.manager.stop());
  const events = async (query = '', sent: Sent = {}): Promise<Shown[]> =>
    (await node.request(`/events${query}`, sent)).body.events;
  const newest = async () => (await events('?limit=1'))[0];
  /** Refused logins are answered late. */
  const refused = async (as: string) => {
    let answered = false;
    const sent = node.request('/settings/alerts', { as, form: { enabled: 'true' } });
    const answer = sent.finally(() => {
      answered = true;
    });
    await eventually(() => {
      node.clock.advance(10);
      assert.ok(answered);
    });
    return await answer;
  };
  return { ...node, events, newest, refused };
}

const aBucket = { name: 'b', ramQuotaMB: 100 };

describe('events', () => {
  it('have the published form', async (t) => {
    const { request, clock } = await aNode(t);
    await request('/settings/stats', { form: { sendStats: 'false' } });
    const [event] = (await request('/events?limit=1')).body.events;
    const { uuid, ...rest } = event;
    assert.match(uuid, /^[\da-f-]{36}$/);
    assert.deepEqual(rest, {
      timestamp: new Date(clock.wallMs()).toISOString(),
      event_id: 1000,
      component: 'ns_server',
      description: 'Administrative change',
      severity: 'info',
      node: 'cb.local',
      otp_node: 'ns_1@cb.local',
      extra_attributes: {
        operation: 'provisioning.stats',
        method: 'POST',
        path: '/settings/stats',
        user: 'Administrator',
        domain: 'admin',
        from: '127.0.0.1',
        encrypted: false,
        sent: { sendStats: 'false' },
      },
    });
    const { list } = (await request('/logs?limit=1')).body;
    assert.deepEqual(
      list,
      [
        {
          node: 'ns_1@cb.local',
          type: 'info',
          code: 10,
          module: 'menelaus_web',
          tstamp: clock.wallMs(),
          shortText: 'Administrative change',
          serverTime: new Date(clock.wallMs()).toISOString(),
          text: 'Administrator from 127.0.0.1: POST /settings/stats',
        },
      ].map((entry) => ({ ...entry })),
    );
  });

  it('record the start of the node and the life cycle of a bucket', async (t) => {
    const { request, events, kv } = await aNode(t);
    await request('/pools/default/buckets', { form: aBucket });
    kv.figures['b'] = { damaged: [{ path: '/data/b/2.db', reason: 'is damaged' } as never] };
    await request('/pools/default');
    await request('/pools/default/buckets/b', { method: 'DELETE' });
    const recorded = (await events()).map(({ description }) => description);
    assert.deepEqual(
      recorded.filter((description) => description !== 'Administrative change'),
      ['Service started', 'Bucket created', 'Bucket online', 'Bucket in trouble', 'Bucket deleted'],
    );
  });

  it('record changes by every method, deletions included', async (t) => {
    const { request, events, clock } = await aNode(t);
    const user = '/settings/rbac/users/local/jane';
    await request('/pools/default/buckets', { form: aBucket });
    const calls = [
      ['PUT', user, { form: { password: 'secret1', roles: 'ro_admin' } }],
      ['PATCH', user, { form: { password: 'secret2' } }],
      ['POST', '/settings/stats', { form: { sendStats: 'false' } }],
      ['DELETE', user, {}],
      ['DELETE', '/pools/default/buckets/b', {}],
    ] as const;
    for (const [method, path, sent] of calls) {
      clock.advance(1);
      const { status } = await request(path, { method, ...sent });
      assert.equal(status, 200, `${method} ${path}`);
      const changes = (await events()).filter((event) => event.extra_attributes?.['method']);
      const recorded = changes.at(-1)?.extra_attributes;
      assert.deepEqual(
        [recorded?.['method'], recorded?.['path'], recorded?.['user']],
        [method, path, 'Administrator'],
      );
    }
  });

  it('record no change that was refused or only validated', async (t) => {
    const { request, newest } = await aNode(t);
    const before = await newest();
    await request('/settings/stats', { form: { sendStats: 'x' } });
    await request('/settings/stats?just_validate=1', { form: { sendStats: 'true' } });
    await request('/settings/alerts?just_validate=1', { form: { enabled: 'true', recipients: 'a@b' } });
    await request('/settings/autoFailover?just_validate=1', { form: { enabled: 'false' } });
    await request('/pools/default/buckets?just_validate=1', { form: aBucket });
    await request('/settings/alerts/testEmail', { form: { enabled: 'true', recipients: 'a@b' } });
    await request('/pools/default/checkPermissions', { method: 'POST' });
    await request('/pools/default');
    assert.deepEqual(await newest(), before);
  });

  it('record every call whose method is not GET except these', async (t) => {
    const { manager } = await aNode(t);
    const silent = manager.routes.filter(({ route }) => route.changesNothing).map(({ route }) => route.id);
    assert.deepEqual(silent.sort(), [
      'alerts.send_test',
      'alerts.test',
      // The backup service keeps a history of its own.
      'backup_proxy.delete',
      'backup_proxy.get',
      'backup_proxy.patch',
      'backup_proxy.post',
      'backup_proxy.put',
      'collections.ensure',
      'joining.engage',
      'ldap.try_connection',
      'ldap.try_groups',
      'ldap.try_login',
      'metrics.ranges',
      'query.proxy',
      'ui.login',
      'ui.logout',
      'users.check_permissions',
    ]);
  });

  it('record a change with just_validate on a route without validation', async (t) => {
    const { request, newest } = await aNode(t);
    await request('/settings/autoFailover/resetCount?just_validate=1', { method: 'POST' });
    assert.equal((await newest())?.extra_attributes?.['operation'], 'auto_failover.reset');
  });

  it('record failed logins and refused permissions, without unknown user names', async (t) => {
    const { request, events, clock, refused } = await aNode(t);
    const weak = { password: 'secret1', roles: 'data_reader[*]' };
    await request('/settings/rbac/users/local/weak', { method: 'PUT', form: weak });
    await request('/settings/rbac/users/external/eve', { method: 'PUT', form: { roles: 'ro_admin' } });
    const since = clock.wallMs() + 1;
    clock.advance(1000);
    const unknown = 'my-password-in-the-wrong-field:';
    const attempts = ['Administrator:wrong-one', unknown, 'weak:secret1', 'eve:wrong-one'];
    for (const as of attempts) await refused(as);
    await request('/settings/alerts', { as: null });
    const newer = await events(`?sinceTime=${new Date(since).toISOString()}`);
    assert.deepEqual(
      newer.map(({ event_id, extra_attributes }) => [
        event_id,
        extra_attributes?.['user'],
        extra_attributes?.['domain'],
        extra_attributes?.['count'],
      ]),
      [
        [10200, 'Administrator', 'admin', 1],
        [10200, null, undefined, 1],
        [10201, 'weak', 'local', 1],
        [10200, 'eve', 'external', 1],
      ],
    );
    assert.doesNotMatch(JSON.stringify(newer), /wrong/);
    for (let time = 0; time < 3; time++) await refused('Administrator:wrong-one');
    clock.advance(windowMs);
    assert.equal((await events('?limit=1'))[0]?.extra_attributes?.['count'], 3);
  });

  it('are the newest, or the first since a time, up to a limit', async (t) => {
    const { request, events, clock } = await aNode(t);
    const times: string[] = [];
    for (let number = 0; number < 5; number++) {
      clock.advance(1000);
      times.push(new Date(clock.wallMs()).toISOString());
      await request('/settings/stats', { form: { sendStats: number % 2 ? 'true' : 'false' } });
    }
    const at = (list: Shown[]) => list.map((event) => (event as unknown as { timestamp: string }).timestamp);
    assert.deepEqual(at(await events('?limit=2')), times.slice(3));
    assert.deepEqual(at(await events(`?limit=2&sinceTime=${times[1]}`)), times.slice(1, 3));
    assert.deepEqual(at(await events(`?limit=-1&sinceTime=${times[2]}`)), times.slice(2));
    const { list } = (await request(`/logs?limit=1&sinceTime=${Date.parse(times[4] as string)}`)).body;
    assert.deepEqual(
      list.map(({ serverTime }: { serverTime: string }) => serverTime),
      [times[4]],
    );
  });

  it('are read with valid parameters only', async (t) => {
    const { request } = await aNode(t);
    const limit = 'The value must be in range from';
    for (const [url, key, text] of [
      ['/logs?limit=0', 'limit', `${limit} 1 to 10000`],
      ['/logs?limit=10001', 'limit', `${limit} 1 to 10000`],
      ['/logs?limit=x', 'limit', 'The value must be an integer'],
      ['/logs?sinceTime=-1', 'sinceTime', `${limit} 0 to 8640000000000000`],
      ['/events?limit=-2', 'limit', `${limit} -1 to 10000`],
      ['/events?limit=0', 'limit', 'The value must be -1 or in range from 1 to 10000'],
      ['/events?limit=10001', 'limit', `${limit} -1 to 10000`],
      ['/events?sinceTime=yesterday', 'sinceTime', 'The value must be a valid ISO 8601 UTC timestamp'],
      [
        '/events?sinceTime=2026-13-01T00:00:00Z',
        'sinceTime',
        'The value must be a valid ISO 8601 UTC timestamp',
      ],
    ] as const) {
      const { status, body } = await request(url);
      assert.deepEqual([status, body], [400, { errors: { [key]: text } }], url);
    }
    for (const url of ['/logs?limit=1', '/logs?limit=10000', '/events?limit=-1', '/events?limit=10000'])
      assert.equal((await request(url)).status, 200, url);
  });

  it('show authors of changes only to administrators of the cluster or its security', async (t) => {
    const { request } = await aNode(t);
    await request('/pools/default/buckets', { form: aBucket });
    const roles = [
      'admin',
      'ro_admin',
      'cluster_admin',
      'security_admin_local',
      'bucket_admin[b]',
      'data_reader[b]',
    ];
    const seen: Record<string, string[]> = {};
    for (const [index, role] of roles.entries()) {
      const form = { password: 'secret1', roles: role };
      await request(`/settings/rbac/users/local/u${index}`, { method: 'PUT', form });
      const { status, body } = await request('/events', { as: `u${index}:secret1` });
      const recorded: string[] =
        status === 200 ? body.events.map((event: Shown) => event.description) : [`${status}`];
      seen[role] = [...new Set(recorded)].sort();
    }
    const node = ['Bucket created', 'Bucket online', 'Service started'];
    const all = ['Administrative change', ...node, 'User added or changed'];
    assert.deepEqual(seen, {
      admin: all,
      ro_admin: all,
      cluster_admin: all,
      security_admin_local: all,
      'bucket_admin[b]': node,
      'data_reader[b]': ['403'],
    });
  });

  it('are followed as they happen', async (t) => {
    const { request, manager } = await aNode(t);
    const { handler } = manager.routes.find(({ route }) => route.id === 'events.stream') as BoundRoute;
    const input = { params: {}, query: { limit: 1 }, body: undefined, justValidate: false };
    const answer = await handler(input as never, { may: () => true } as never);
    assert.equal(answer.kind, 'stream');
    if (!('source' in answer)) return;
    const abort = new AbortController();
    const stream = answer.source(abort.signal)[Symbol.asyncIterator]();
    const next = async () => ((await stream.next()).value as { events: Shown[] }).events;
    assert.equal((await next()).length, 1);
    const following = next();
    await request('/settings/stats', { form: { sendStats: 'true' } });
    assert.deepEqual(
      (await following).map((event) => event.extra_attributes?.['operation']),
      ['provisioning.stats'],
    );
    abort.abort();
    assert.equal((await stream.next()).done, true);
  });

  it('delay no change if they cannot be stored', async (t) => {
    class FullDisk extends MemoryJournal {
      override append(): never {
        throw new Error('ENOSPC');
      }
    }
    const { request } = await aNode(t, { journal: () => new FullDisk() });
    assert.equal((await request('/settings/stats', { form: { sendStats: 'true' } })).status, 200);
    assert.deepEqual((await request('/events')).body, { events: [] });
  });

  it('skip lines that a crash truncated', async (t) => {
    const journals = { events: new MemoryJournal(), refusals: new MemoryJournal() };
    const { events } = await aNode(t, { journal: (name) => journals[name] });
    const before = await events();
    journals.events.lines.push('{"atMs":1,"name":"node_st', '{"atMs":1,"name":"of another version"}', 'null');
    assert.deepEqual(await events(), before);
  });

  it('record an alert that could not be mailed', async (t) => {
    const mailer = {
      send: async () => ({ sent: false, reason: '550 no such user', permanent: true }) as const,
    };
    const { request, manager, newest } = await aNode(t, { mailer });
    await request('/settings/alerts', { form: { enabled: 'true', recipients: 'a@b' } });
    manager.alerts.raise({ kind: 'auto_failover_node', text: 'x' });
    await eventually(async () => assert.equal((await newest())?.description, 'Alert not mailed'));
  });
});
