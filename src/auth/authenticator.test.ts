import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realRandom } from '#ports/random.ts';
import { advanceUntilDone } from '../../test/support/advance-clock.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { Authenticator, type KnownIdentity } from './authenticator.ts';
import type { Kdf } from './kdf.ts';
import { storePassword } from './passwords.ts';

/** Counts its calls; the "hash" is the password itself. */
class PlainKdf implements Kdf {
  compared = 0;
  running = 0;
  mostRunning = 0;
  async scrypt(password: string): Promise<Buffer> {
    this.compared++;
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    await Promise.resolve();
    this.running--;
    return Buffer.from(password);
  }
  async pbkdf2(password: string): Promise<Buffer> {
    return Buffer.from(password);
  }
}

async function anAuthenticator() {
  const kdf = new PlainKdf();
  const clock = new ManualClock();
  const users = new Map<string, KnownIdentity>();
  const add = async (name: string, password: string, credentialId = '1') => {
    users.set(name, {
      identity: { name, domain: 'local' },
      password: await storePassword(password, kdf, realRandom),
      credentialId,
      roles: [{ role: 'ro_admin', names: [] }],
    });
    kdf.compared = 0;
  };
  const listeners = new Set<() => void>();
  const source = {
    isProvisioned: () => true,
    find: (name: string) => users.get(name) ?? null,
    onChange(listener: () => void) {
      listeners.add(listener);
      return { stop: () => void listeners.delete(listener) };
    },
  };
  const authenticator = new Authenticator({ source, kdf, clock, random: realRandom });
  const login = (name: string, password: string, remoteAddress = '10.0.0.1') =>
    authenticator.authenticate({ name, password, remoteAddress });
  return { authenticator, kdf, clock, users, listeners, add, login };
}

test('the authenticator accepts the right password, and verifies it only once', async () => {
  const { add, login, kdf } = await anAuthenticator();
  await add('jane', 'secret1');
  const caller = await login('jane', 'secret1');
  assert.deepEqual(caller?.identity, { name: 'jane', domain: 'local' });
  assert.ok(caller.hasRoles);
  assert.equal(kdf.compared, 1);
  await login('jane', 'secret1');
  assert.equal(kdf.compared, 1);
});

test('the authenticator verifies once for concurrent requests', async () => {
  const { add, login, kdf } = await anAuthenticator();
  await add('jane', 'secret1');
  const callers = await Promise.all(Array.from({ length: 50 }, () => login('jane', 'secret1')));
  assert.ok(callers.every((caller) => caller?.identity.name === 'jane'));
  assert.equal(kdf.compared, 1);
});

test('the authenticator verifies again after the password was changed', async () => {
  const { add, login, clock } = await anAuthenticator();
  await add('jane', 'secret1');
  await login('jane', 'secret1');
  await add('jane', 'secret2', '2');
  assert.equal(await advanceUntilDone(clock, login('jane', 'secret1')), null);
  assert.ok(await login('jane', 'secret2'));
});

test('the authenticator refuses a password that was changed while it was verified', async () => {
  const { add, login, clock, users } = await anAuthenticator();
  await add('jane', 'secret1');
  const answer = login('jane', 'secret1');
  users.set('jane', { ...(users.get('jane') as KnownIdentity), credentialId: '2' });
  assert.equal(await advanceUntilDone(clock, answer), null);
});

test('the authenticator hashes the password even of an external user whom no LDAP server accepts', async () => {
  const { users, login, kdf, clock } = await anAuthenticator();
  const identity = { name: 'jane', domain: 'external' } as const;
  users.set('jane', { identity, password: null, credentialId: '1', roles: [] });
  const refused = login('jane', 'guess');
  await advanceUntilDone(clock, refused);
  assert.equal(await refused, null);
  assert.equal(kdf.compared, 1);
});

test('the authenticator hashes the password even for an unknown user name', async () => {
  const { login, kdf, clock } = await anAuthenticator();
  assert.equal(await advanceUntilDone(clock, login('nobody', 'x')), null);
  assert.equal(kdf.compared, 1);
});

test('delays the answer to each repeated failure of a source and user longer, and right passwords not at all', async () => {
  const { add, login, clock } = await anAuthenticator();
  await add('jane', 'secret1');
  const delays: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    const startedMs = clock.monotonicMs();
    assert.equal(await advanceUntilDone(clock, login('jane', 'wrong')), null);
    delays.push(clock.monotonicMs() - startedMs);
    assert.ok(await login('jane', 'secret1'), 'answered without a delay');
  }
  assert.deepEqual(delays, [100, 200, 400, 800, 1600, 2000, 2000, 2000]);
});

test('the authenticator answers several connections of one client with a wrong password within three seconds, after any number of failures', async () => {
  const { login, clock } = await anAuthenticator();
  for (let attempt = 0; attempt < 20; attempt++) await advanceUntilDone(clock, login('jane', 'wrong'));
  const startedMs = clock.monotonicMs();
  await advanceUntilDone(clock, Promise.all(Array.from({ length: 4 }, () => login('jane', 'wrong'))));
  assert.ok(clock.monotonicMs() - startedMs <= 3_000, `${clock.monotonicMs() - startedMs} ms`);
});

test('the authenticator notifies once when an account is deleted, or its credentials or roles change', async () => {
  const { authenticator, users, listeners, add, login } = await anAuthenticator();
  await add('jane', 'secret1');
  const jane = users.get('jane') as KnownIdentity;
  const change = (now: KnownIdentity | null) => {
    if (now) users.set('jane', now);
    else users.delete('jane');
    for (const listener of [...listeners]) listener();
  };
  const byPassword = await login('jane', 'secret1');
  const byCertificate = authenticator.byCertificate('jane');
  assert.ok(byPassword && byCertificate);
  const notified: string[] = [];
  const watch = () => {
    authenticator.whenChanged(byPassword, () => notified.push('password'));
    authenticator.whenChanged(byCertificate, () => notified.push('certificate'));
  };
  watch();
  const changed = () => [byPassword, byCertificate].map((caller) => authenticator.hasChanged(caller));
  change({ ...jane });
  assert.deepEqual(notified.splice(0), []);
  assert.deepEqual(changed(), [false, false]);
  change({ ...jane, credentialId: '2' });
  assert.deepEqual(notified.splice(0), ['password']);
  assert.deepEqual(changed(), [true, false]);
  change({ ...jane, roles: [] });
  assert.deepEqual(changed(), [true, true]);
  change(null);
  assert.deepEqual(notified.splice(0), ['certificate']);
  watch();
  assert.deepEqual(
    notified.splice(0),
    ['password', 'certificate'],
    'a change before the call was not reported',
  );
  assert.equal(listeners.size, 0);
  change(jane);
  authenticator.whenChanged(byPassword, () => notified.push('stopped')).stop();
  change(null);
  assert.deepEqual(notified, []);
});

test('the authenticator counts all addresses of an IPv6 network as one source', async () => {
  const { login, clock } = await anAuthenticator();
  const delays: number[] = [];
  for (let attempt = 0; attempt < 4; attempt++) {
    const startedMs = clock.monotonicMs();
    await advanceUntilDone(clock, login('jane', 'wrong', `2001:db8:1:2::${attempt}`));
    delays.push(clock.monotonicMs() - startedMs);
  }
  assert.deepEqual(delays, [100, 200, 400, 800]);
  const startedMs = clock.monotonicMs();
  await advanceUntilDone(clock, login('jane', 'wrong', '2001:db8:1:3::1'));
  assert.equal(clock.monotonicMs() - startedMs, 100);
});

test('the authenticator discards failures after a quarter of an hour without any', async () => {
  const { login, clock } = await anAuthenticator();
  for (let attempt = 0; attempt < 8; attempt++) await advanceUntilDone(clock, login('jane', 'wrong'));
  clock.advance(15 * 60_000);
  const startedMs = clock.monotonicMs();
  await advanceUntilDone(clock, login('jane', 'wrong'));
  assert.equal(clock.monotonicMs() - startedMs, 100);
});

test('the authenticator verifies two passwords at a time, and only one of sources that guess', async () => {
  const { login, kdf, clock, add } = await anAuthenticator();
  await add('jane', 'secret1');
  const guesses = () => Promise.all(Array.from({ length: 50 }, (_, n) => login(`guess${n}`, 'x')));
  await advanceUntilDone(clock, guesses());
  assert.equal(kdf.mostRunning, 2);
  kdf.mostRunning = 0;
  await advanceUntilDone(clock, guesses());
  assert.equal(kdf.mostRunning, 1);
  assert.ok(await login('jane', 'secret1', '10.0.0.2'));
});

test('the authenticator verifies for other sources before a source that guesses', async () => {
  const { login, kdf, clock, add } = await anAuthenticator();
  await add('jane', 'secret1');
  await advanceUntilDone(clock, Promise.all(Array.from({ length: 10 }, (_, n) => login(`guess${n}`, 'x'))));
  kdf.compared = 0;
  const guesses = Promise.all(Array.from({ length: 100 }, (_, n) => login(`guess${n}`, 'x')));
  assert.ok(await login('jane', 'secret1', '10.0.0.2'));
  assert.ok(kdf.compared < 10, `${kdf.compared} verifications ran before`);
  await advanceUntilDone(clock, guesses);
});

test('the authenticator refuses a login when hundreds are queued', async () => {
  const { login, clock } = await anAuthenticator();
  const attempts = Array.from({ length: 600 }, (_, n) =>
    login(`guess${n}`, 'x').then(String, (e) => e.status),
  );
  const results = await advanceUntilDone(clock, Promise.all(attempts));
  assert.equal(results.filter((result) => result === 503).length, 98);
});
