import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { sessionCookie } from '#http/sessions.ts';
import { aManager } from '../../../test/support/manager.ts';
import type { ManualClock } from '../../../test/support/manual-clock.ts';

const idleMs = 30 * 60_000;

/** Opens a session and returns the headers by which a browser uses it. */
async function aSession() {
  const manager = await aManager();
  const { request } = manager;
  const { status, headers } = await request('/uilogin', { method: 'POST' });
  assert.equal(status, 200);
  const set = String(headers['set-cookie']);
  assert.match(set, /^divan-session-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  const cookie = set.split(';')[0] as string;
  return { ...manager, cookie, console: { cookie, 'ns-server-ui': 'yes' } };
}

/** The result of a failed login, which is answered with a delay. */
async function delayed<T>(clock: ManualClock, login: Promise<T>): Promise<T> {
  let isAnswered = false;
  void login.finally(() => (isAnswered = true));
  while (!isAnswered) {
    clock.advance(100);
    await setImmediate();
  }
  return await login;
}

it('redirects the root and the published address to the console', async () => {
  const { request } = await aManager();
  for (const path of ['/', '/ui/index.html']) {
    const { status, headers } = await request(path, { as: null });
    assert.deepEqual([status, headers.location], [301, '/ui/'], path);
  }
});

it('disables the console for plain connections by its setting, but not the API', async () => {
  const { request } = await aManager();
  await request('/settings/security', { form: { disableUIOverHttp: 'true' } });
  for (const file of ['/ui/', '/ui', '/ui/assets/index.js']) {
    const { status, text } = await request(file);
    assert.deepEqual([status, text], [404, ''], file);
  }
  assert.equal((await request('/pools')).status, 200);
  await request('/settings/security/disableUIOverHttp', { method: 'DELETE' });
  assert.notEqual((await request('/ui/')).text, '');
});

it('serves no file from outside of its folder', async () => {
  const { request } = await aManager();
  for (const name of ['..%2f..%2f..%2fpackage.json', 'index.html', '.js', 'a.js.gz', 'none.js']) {
    assert.equal((await request(`/ui/assets/${name}`, { as: null })).status, 404, name);
  }
});

it('identifies the caller by the cookie of a session, with its current roles, until the session ends', async () => {
  const { request, console } = await aSession();
  const whoAmI = async () => (await request('/whoami', { as: null, headers: console })).body.id;
  assert.equal(await whoAmI(), 'Administrator');
  assert.equal((await request('/pools/default', { as: null, headers: console })).status, 200);
  const ended = await request('/uilogout', { as: null, method: 'POST', headers: console });
  assert.match(String(ended.headers['set-cookie']), /^divan-session-\d+=; .*Max-Age=0$/);
  assert.equal(await whoAmI(), '');
  assert.equal((await request('/pools/default', { as: null, headers: console })).status, 401);
});

it('ignores the cookie in a request without the header that only the console adds', async () => {
  const { request, cookie } = await aSession();
  assert.equal((await request('/pools/default', { as: null, headers: { cookie } })).status, 401);
  const otherPort = { cookie: cookie.replace(/-\d+=/, '-1='), 'ns-server-ui': 'yes' };
  assert.equal((await request('/pools/default', { as: null, headers: otherPort })).status, 401);
  const forged = { cookie: `${cookie.slice(0, -3)}AAA`, 'ns-server-ui': 'yes' };
  assert.equal((await request('/pools/default', { as: null, headers: forged })).status, 401);
});

it('refuses a change by a page of another site in spite of the session', async () => {
  const { request, console } = await aSession();
  const headers = { ...console, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  const form = { name: 'b', ramQuotaMB: 100 };
  assert.equal((await request('/pools/default/buckets', { as: null, headers, form })).status, 403);
});

it('ends a session after 30 minutes without a request, and not before', async () => {
  const { request, console, clock } = await aSession();
  const status = async () => (await request('/pools/default', { as: null, headers: console })).status;
  clock.advance(idleMs - 1);
  assert.equal(await status(), 200);
  clock.advance(idleMs - 1);
  assert.equal(await status(), 200);
  clock.advance(idleMs);
  assert.equal(await status(), 401);
});

it('ends the sessions of a user whose password changes', async () => {
  const { request, console, clock } = await aSession();
  const form = { port: 'SAME', username: 'Administrator', password: 'another password' };
  assert.equal((await request('/settings/web', { form })).status, 200);
  const first = await delayed(clock, request('/pools/default', { as: null, headers: console }));
  assert.equal(first.status, 401);
  assert.equal((await request('/pools/default', { as: null, headers: console })).status, 401);
});

it('opens no session for wrong credentials or without any, and does not make the browser ask for them', async () => {
  const { request, clock } = await aManager();
  for (const as of ['Administrator:wrong', null]) {
    const headers = { 'invalid-auth-response': 'on' };
    const refused = await delayed(clock, request('/uilogin', { method: 'POST', as, headers }));
    assert.deepEqual([refused.status, refused.headers['set-cookie']], [401, undefined]);
    assert.equal(refused.headers['www-authenticate'], undefined);
  }
});

it('keeps 50 sessions of a user; one more ends the oldest session of the same user', async () => {
  const { request, console: administrators } = await aSession();
  const user = { password: 'password', roles: 'ro_admin' };
  await request('/settings/rbac/users/local/many', { method: 'PUT', form: user });
  const sessions: Record<string, string>[] = [];
  for (let number = 0; number < 51; number++) {
    const { headers } = await request('/uilogin', { method: 'POST', as: 'many:password' });
    sessions.push({ cookie: String(headers['set-cookie']).split(';')[0] as string, 'ns-server-ui': 'yes' });
  }
  const status = async (headers: Record<string, string> = {}) =>
    (await request('/pools/default', { as: null, headers })).status;
  assert.equal(await status(sessions[0]), 401);
  assert.equal(await status(sessions[1]), 200);
  assert.equal(await status(sessions[50]), 200);
  assert.equal(await status(administrators), 200);
});

it('marks the cookie of a TLS port as secure', () => {
  assert.equal(
    sessionCookie('token', { port: 18091, isTls: true }),
    'divan-session-18091=token; Path=/; HttpOnly; SameSite=Strict; Secure',
  );
});
