// Answers of the main thread to the query thread, whose place a test takes.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { Authority } from '#auth/authority.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import { silentLog } from '#ports/log.ts';
import { KnownCallers } from './known-callers.ts';
import type { QueryCall } from './query-messages.ts';
import { WorkerQuery, type WorkerQueryOptions } from './worker-query.ts';

/** Authenticates the user `u` in a query thread, while the authority of the main thread rejects with the error. */
function aLogin(error: Error, { provisioned = true } = {}) {
  const thread = Object.assign(new EventEmitter(), {
    postMessage: (call: QueryCall) => {
      if (call.kind === 'caller not checked') callers.fail(call);
    },
  });
  const callers = new KnownCallers(Buffer.alloc(32), (message) => void thread.emit('message', message));
  const authority: Partial<Authority> = {
    provisioned: () => provisioned,
    authenticate: () => Promise.reject(error),
  };
  const options: Partial<WorkerQueryOptions> = {
    startThread: () => thread as never,
    authority: () => authority as Authority,
    log: silentLog,
  };
  new WorkerQuery(options as WorkerQueryOptions);
  return callers.authenticate({ user: 'u', password: 'p' }, '127.0.0.1:1');
}

test('a request whose login cannot be checked is refused with the reason, and the node continues', async () => {
  await assert.rejects(aLogin(generalRefusals.busyHashing()), { code: 1182, status: 503, isRetryable: true });
  const unexpected = { code: 5000, message: /no memory/, isRetryable: false };
  await assert.rejects(aLogin(new Error('no memory')), unexpected);
});

test('a client of a cluster that the node has left may repeat its statement, at another node', async () => {
  const left = aLogin(new Error('has no accounts'), { provisioned: false });
  await assert.rejects(left, { code: 5000, message: /This node is in no cluster/, isRetryable: true });
});
