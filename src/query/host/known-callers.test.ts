import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownCallers } from './known-callers.ts';
import type { QueryMessage } from './query-messages.ts';

/** The main thread knows every user. */
function callers() {
  const sent: QueryMessage[] = [];
  const known: KnownCallers = new KnownCallers(Buffer.alloc(32), (message) => {
    sent.push(message);
    if (message.kind !== 'authenticate') return;
    const { callId, question: login } = message;
    const name = 'name' in login ? login.name : login.certificateName;
    // The id of the call is also that of the watch, by which changes of the account are reported.
    const watch = callId;
    known.answer(callId, { identity: { name, domain: 'local' }, roles: [] }, watch);
  });
  const ask = async (user: string): Promise<number> => {
    const before = sent.filter(({ kind }) => kind === 'authenticate').length;
    await known.authenticate({ user, password: 'p' }, '127.0.0.1:1');
    return sent.filter(({ kind }) => kind === 'authenticate').length - before;
  };
  return { known, ask };
}

test('the account of a caller is asked for once, and again after it changed', async () => {
  const { known, ask } = callers();
  assert.equal(await ask('a'), 1);
  assert.equal(await ask('a'), 0);
  const { revision } = known;
  const firstWatch = 1;
  known.discard(firstWatch);
  assert.notEqual(known.revision, revision);
  assert.equal(await ask('a'), 1);
});

test('the revision changes when a caller is evicted from the cache, because changes of its account are no longer reported', async () => {
  const { known, ask } = callers();
  for (let at = 0; at < 1_000; at++) await ask(`user ${at}`);
  const { revision } = known;
  await ask('one more');
  assert.notEqual(known.revision, revision);
  assert.equal(await ask('user 0'), 1);
});
