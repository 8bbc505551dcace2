// Answers of the main thread to the query thread, whose place a test takes.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { callerOf } from '#auth/authenticator.ts';
import type { Authority, Caller } from '#auth/authority.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { KnownCallers } from './known-callers.ts';
import type { QueryCall } from './query-messages.ts';
import { WorkerQuery, type WorkerQueryOptions } from './worker-query.ts';

/** The callers that a query thread knows, with this authority in the main thread. */
function aThread(authority: Partial<Authority>) {
  const thread = Object.assign(new EventEmitter(), {
    postMessage: (call: QueryCall) => {
      if (call.kind === 'caller not checked') callers.fail(call);
      if (call.kind === 'caller') callers.answer(call.callId, call.caller, call.watch);
      if (call.kind === 'discard') callers.discard(call.watch);
    },
  });
  const callers: KnownCallers = new KnownCallers(
    Buffer.alloc(32),
    (message) => void thread.emit('message', message),
  );
  const clock = new ManualClock();
  const refused: unknown[] = [];
  const options: Partial<WorkerQueryOptions> = {
    startThread: () => thread as never,
    authority: () => authority as Authority,
    clock,
    loginRefused: (login) => refused.push(login),
    log: silentLog,
  };
  new WorkerQuery(options as WorkerQueryOptions);
  const logIn = () => callers.authenticate({ user: 'u', password: 'p' }, '127.0.0.1:1');
  return { callers, clock, logIn, refused };
}

/** Authenticates the user `u` in a query thread, while the authority of the main thread rejects with the error. */
const aLogin = (error: Error, { provisioned = true } = {}) =>
  aThread({ isProvisioned: () => provisioned, authenticate: () => Promise.reject(error) }).logIn();

test('a request whose login cannot be checked is refused with the reason, and the node continues', async () => {
  await assert.rejects(aLogin(generalRefusals.busyHashing()), { code: 1182, status: 503, isRetryable: true });
  const unexpected = { code: 5000, message: /no memory/, isRetryable: false };
  await assert.rejects(aLogin(new Error('no memory')), unexpected);
});

test('a client of a cluster that the node has left may repeat its statement, at another node', async () => {
  const left = aLogin(new Error('has no accounts'), { provisioned: false });
  await assert.rejects(left, { code: 5000, message: /This node is in no cluster/, isRetryable: true });
});

test('the password of an external user, which the node does not store, is checked again after five seconds', async () => {
  for (const [domain, checksLater] of [
    ['external', 2],
    ['local', 1],
  ] as const) {
    let checks = 0;
    const { callers, clock, logIn } = aThread({
      isProvisioned: () => true,
      whenChanged: () => ({ stop() {} }),
      authenticate: async () => {
        checks++;
        return callerOf({ name: 'u', domain }, []);
      },
    });
    await logIn();
    clock.advance(4_999);
    await logIn();
    assert.equal(checks, 1, domain);
    const { revision } = callers;
    clock.advance(1);
    await logIn();
    assert.equal(checks, checksLater, domain);
    // Connections, too, keep a caller only as long as the revision stays.
    assert.equal(callers.revision !== revision, checksLater > 1, domain);
  }
});

test('a refused login is reported with its name and address, and no other', async () => {
  let caller: Caller | null = null;
  const { logIn, refused } = aThread({ isProvisioned: () => true, authenticate: async () => caller });
  await logIn();
  assert.deepEqual(refused, [{ user: 'u', from: '127.0.0.1' }]);
  caller = callerOf({ name: 'u', domain: 'local' }, []);
  await logIn();
  assert.equal(refused.length, 1);
});
