import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { auditEvents } from './audit-events.ts';
import { FolderAudit } from './audit-file.adapter.ts';

const path = '/settings/audit';

async function audited(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'divan-audit-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const clock = { wallMs: 1_700_000_000_000 };
  const file = new FolderAudit(() => clock.wallMs);
  const node = await aManager({ auditFile: file });
  t.after(() => node.manager.stop());
  const lines = () =>
    readFileSync(join(folder, 'audit.log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { ...node, folder, lines, clock, loginClock: node.clock };
}

describe('the audit log', () => {
  it('is off by default, and records changes by their published numbers', async (t) => {
    const { request, folder, lines } = await audited(t);
    const { disabled, ...others } = (await request(path)).body;
    assert.deepEqual(others, {
      uid: '0',
      auditdEnabled: false,
      disabledUsers: [],
      logPath: '/data/logs',
      rotateInterval: 86_400,
      rotateSize: 20_971_520,
    });
    assert.deepEqual(
      [disabled[0], disabled.at(-1), disabled.length],
      [28672, 28725, 33],
      'by default the events of statements, and no others, are disabled',
    );
    await request('/settings/stats', { form: { sendStats: 'true' } });
    assert.equal((await request(path, { form: { auditdEnabled: 'true', logPath: folder } })).status, 200);
    await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
    await request('/settings/rbac/users/local/u', {
      method: 'PUT',
      form: { password: 'pl4nted-secret', roles: 'ro_admin' },
    });
    await request('/settings/stats', { form: { sendStats: 'true' } });
    await request('/internalSettings', { as: 'u:pl4nted-secret' });
    assert.deepEqual(
      lines().map(({ id }: { id: number }) => id),
      [8240, 8201, 8232, 8209, 8264],
    );
    const [, created] = lines();
    assert.deepEqual(created.real_userid, { domain: 'builtin', user: 'Administrator' });
    assert.deepEqual([created.name, created.remote.ip], ['create bucket', '127.0.0.1']);
    assert.match(created.timestamp, /^\d{4}-/);
    assert.doesNotMatch(readFileSync(join(folder, 'audit.log'), 'utf8'), /pl4nted/);
    assert.equal(statSync(join(folder, 'audit.log')).mode & 0o777, 0o600);
    await request(path, { form: { auditdEnabled: 'false' } });
    const count = lines().length;
    await request('/settings/stats', { form: { sendStats: 'true' } });
    assert.equal(lines().length, count);
  });

  it('names the sender of a request and the user on whose behalf it was made, with their published domains', async (t) => {
    const { request, folder, lines } = await audited(t);
    await request(path, { form: { auditdEnabled: 'true', logPath: folder } });
    const form = { password: 'password', roles: 'admin' };
    await request('/settings/rbac/users/local/ops', { method: 'PUT', form });
    const onBehalfOf = async (user: string, as?: string) => {
      const headers = { 'cb-on-behalf-of': Buffer.from(user).toString('base64') };
      const sent = { form: { sendStats: 'true' }, headers, ...(as !== undefined && { as }) };
      assert.equal((await request('/settings/stats', sent)).status, 200);
      return [lines().at(-1).real_userid, lines().at(-1).effective_userid];
    };
    const administrator = { domain: 'builtin', user: 'Administrator' };
    const ops = { domain: 'local', user: 'ops' };
    assert.deepEqual(await onBehalfOf('Administrator:admin', 'ops:password'), [ops, administrator]);
    assert.deepEqual(await onBehalfOf('ops:local'), [administrator, ops]);
  });

  it('names the domain of a user whose request or login is refused, and on whose behalf it was made', async (t) => {
    const { request, manager, folder, lines, loginClock } = await audited(t);
    await request(path, { form: { auditdEnabled: 'true', logPath: folder } });
    await request('/settings/rbac/users/external/eve', { method: 'PUT', form: { roles: 'ro_admin' } });
    const headers = { 'cb-on-behalf-of': Buffer.from('eve:external').toString('base64') };
    const sent = { form: { sendStats: 'true' } };
    assert.equal((await request('/settings/stats', { ...sent, headers })).status, 403);
    const [eve, administrator] = [
      { domain: 'external', user: 'eve' },
      { domain: 'builtin', user: 'Administrator' },
    ];
    const last = () => [lines().at(-1).id, lines().at(-1).real_userid, lines().at(-1).effective_userid];
    assert.deepEqual(last(), [8264, administrator, eve]);
    for (const [name, user] of [
      ['eve', eve],
      ['Administrator', administrator],
      ['nobody', { domain: 'unknown', user: '' }],
    ] as const) {
      const answer = request('/settings/stats', { ...sent, as: `${name}:wrong` });
      await eventually(() => {
        loginClock.advance(10_000);
        assert.deepEqual(last(), [8193, user, undefined]);
      });
      assert.equal((await answer).status, 401);
      for (const service of ['data', 'query'] as const) {
        manager.loginRefused({ user: name, from: '192.0.2.1' }, service);
        assert.deepEqual([...last(), lines().at(-1).service], [8193, user, undefined, service]);
      }
    }
    manager.permissionRefused({
      user: { name: 'eve', domain: 'external' },
      from: '192.0.2.1',
      operation: 'SELECT',
    });
    assert.deepEqual([...last(), lines().at(-1).operation], [8264, eve, undefined, 'SELECT']);
  });

  it('rotates the file by size and by age', async (t) => {
    const { request, folder, clock } = await audited(t);
    const form = { auditdEnabled: 'true', logPath: folder, rotateInterval: '900', rotateSize: '700' };
    await request(path, { form });
    for (let i = 0; i < 3; i++) {
      clock.wallMs += 1_000;
      await request('/settings/stats', { form: { sendStats: 'true' } });
    }
    const bySize = readdirSync(folder).length;
    assert.ok(bySize > 1, `${bySize}`);
    await request(path, { form: { rotateSize: '0' } });
    const before = readdirSync(folder).length;
    clock.wallMs += 900_000;
    await request('/settings/stats', { form: { sendStats: 'true' } });
    assert.equal(readdirSync(folder).length, before + 1);
  });

  it('rotates a file that was begun while the clock was set far ahead', async (t) => {
    const { request, folder, clock } = await audited(t);
    clock.wallMs += 86_400_000;
    await request(path, { form: { auditdEnabled: 'true', logPath: folder, rotateInterval: '900' } });
    clock.wallMs -= 86_400_000;
    await request('/settings/stats', { form: { sendStats: 'true' } });
    assert.equal(readdirSync(folder).length, 2);
  });

  it('excludes optional events on request', async (t) => {
    const { request, folder, lines, manager } = await audited(t);
    await request('/settings/alerts', { form: { enabled: 'true', recipients: 'a@b', alerts: 'disk' } });
    const mail = () => manager.alerts.raise({ kind: 'disk', text: 'x' });
    await request(path, { form: { auditdEnabled: 'true', logPath: folder } });
    mail();
    await eventually(() => assert.deepEqual(lines().at(-1).id, 8257));
    await request(path, { form: { disabled: '8257' } });
    assert.deepEqual((await request(path)).body.disabled, [8257]);
    const count = lines().length;
    mail();
    await request('/settings/stats', { form: { sendStats: 'true' } });
    await eventually(() => assert.equal(lines().length, count + 1));
    assert.equal(lines().at(-1).id, 8209);
  });

  it('names every wrong parameter, and changes nothing', async (t) => {
    const { request } = await audited(t);
    const form = {
      auditdEnabled: 'yes',
      logPath: '/nowhere',
      rotateInterval: '60',
      rotateSize: '-1',
      disabled: '8201',
      disabledUsers: 'u/local,x',
      other: '1',
    };
    const first = await request(path, { form });
    assert.deepEqual(Object.keys(first.body.errors).sort(), [
      'auditdEnabled',
      'other',
      'rotateInterval',
      'rotateSize',
    ]);
    const second = await request(path, {
      form: { logPath: '/nowhere', disabled: '8201,1', disabledUsers: 'u/local,x,a/external' },
    });
    assert.deepEqual(second.body.errors, {
      disabled: 'Following events are either unknown or not modifiable: 8201,1',
      disabledUsers: 'Unrecognized users: u/local,x',
      logPath: 'The value must be a valid directory',
    });
    assert.equal((await request(path)).body.auditdEnabled, false);
  });

  it('lists its events, optional ones separately', async (t) => {
    const { request, manager } = await audited(t);
    const [optional, fixed] = [
      (await request(`${path}/descriptors`)).body,
      (await request(`${path}/nonFilterableDescriptors`)).body,
    ];
    assert.deepEqual(
      [...optional, ...fixed].map(({ id }: { id: number }) => id).sort(),
      auditEvents.map(({ id }) => id).sort(),
    );
    const routeIds = new Set(manager.routes.map(({ route }) => route.id));
    const unknown = auditEvents.flatMap(({ routes }) => routes.filter((id) => !routeIds.has(id)));
    assert.deepEqual(unknown, []);
  });
});

describe('the files of the audit log', () => {
  it('keep every event of files that are rotated in the same millisecond', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'divan-audit-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = new FolderAudit(() => 1_700_000_000_000);
    t.after(() => file.close());
    const lines = ['first', 'second', 'third', 'fourth'];
    for (const line of lines) file.append(folder, line, { rotateSeconds: 86_400, rotateBytes: 1 });
    const names = readdirSync(folder).filter((name) => name !== 'audit.log');
    const kept = [...names.sort(), 'audit.log'].map((name) =>
      readFileSync(join(folder, name), 'utf8').trim(),
    );
    assert.deepEqual(kept, lines);
  });

  it('begin anew after an operator has deleted the file, or its folder', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'divan-audit-'));
    const file = new FolderAudit(() => Date.now());
    t.after(() => rmSync(folder, { recursive: true }));
    t.after(() => file.close());
    const limits = { rotateSeconds: 86_400, rotateBytes: 0 };
    for (const deleted of [join(folder, 'audit.log'), folder]) {
      file.append(folder, 'before', limits);
      rmSync(deleted, { recursive: true });
      file.append(folder, 'after', limits);
      assert.equal(readFileSync(join(folder, 'audit.log'), 'utf8'), 'after\n', deleted);
    }
  });

  it('keep an event during which an old file cannot be removed', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'divan-audit-'));
    const file = new FolderAudit(() => 1_700_000_000_000);
    t.after(() => rmSync(folder, { recursive: true }));
    t.after(() => file.close());
    const limits = { rotateSeconds: 86_400, rotateBytes: 1 };
    // A folder in the place of the oldest of more files than are kept.
    mkdirSync(join(folder, 'audit-1999-01-01T00-00-00.000Z.log'));
    for (let year = 2000; year < 2100; year++)
      writeFileSync(join(folder, `audit-${year}-01-01T00-00-00.000Z.log`), '');
    for (const line of ['first', 'second']) file.append(folder, line, limits);
    assert.equal(readFileSync(join(folder, 'audit.log'), 'utf8'), 'second\n');
  });
});
