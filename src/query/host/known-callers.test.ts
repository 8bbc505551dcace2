import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownCallers } from './known-callers.ts';
import type { QueryMessage } from './query-messages.ts';

const passwordKey = Buffer.alloc(32);
/** As many as the cache holds. */
const callersMax = 1_000;

/** The cache of callers, and a main thread that knows every user. `authentications`: how many requests the cache sends it for a login. */
function callers() {
  const sent: QueryMessage[] = [];
  const known: KnownCallers = new KnownCallers(passwordKey, (message) => {
    sent.push(message);
    if (message.kind !== 'authenticate') return;
    const { callId, question: login } = message;
    const name = 'name' in login ? login.name : login.certificateName;
    // The id of the call is also that of the watch, by which changes of the account are reported.
    const watch = callId;
    known.answer(callId, { identity: { name, domain: 'local' }, roles: [] }, watch);
  });
  const authentications = async (user: string): Promise<number> => {
    const before = sent.filter(({ kind }) => kind === 'authenticate').length;
    await known.authenticate({ user, password: 'p' }, '127.0.0.1:1');
    return sent.filter(({ kind }) => kind === 'authenticate').length - before;
  };
  return { known, authentications };
}

test('the account of a caller is asked for once, and again after it changed', async () => {
  const { known, authentications } = callers();
  assert.equal(await authentications('a'), 1);
  assert.equal(await authentications('a'), 0);
  const { revision } = known;
  const firstWatch = 1;
  known.discard(firstWatch);
  assert.notEqual(known.revision, revision);
  assert.equal(await authentications('a'), 1);
});

test('the revision changes when a caller is evicted from the cache, because changes of its account are no longer reported', async () => {
  const { known, authentications } = callers();
  for (let at = 0; at < callersMax; at++) await authentications(`user ${at}`);
  const { revision } = known;
  await authentications('one more');
  assert.notEqual(known.revision, revision);
  assert.equal(await authentications('user 0'), 1);
});
