import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { SqlError } from '#sqlpp/errors/sql-error.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { KnownLibraries } from '../functions/known-libraries.ts';
import { libraryCodeBytesMax } from '../query.contract.ts';
import { JavaScriptFunctions } from './javascript-functions.ts';
import type { JavaScriptReply } from './javascript-messages.ts';
import { JavaScriptThreads, type JavaScriptWorker } from './javascript-threads.ts';

test('a library that is too large is refused without a thread, which would compile it', async () => {
  const startThread = (): never => {
    throw new Error('a thread was started');
  };
  const threads = new JavaScriptThreads({ startThread, clock: new ManualClock(), threadsMax: 1 });
  const functions = new JavaScriptFunctions({ threads, libraries: new KnownLibraries() });
  const code = 'é'.repeat(libraryCodeBytesMax / 2 + 1);
  assert.match(
    (await functions.problemOf({ scope: null, name: 'l', code })) ?? '',
    /at most 131072 bytes, and this one has 131074/,
  );
});

/** Functions whose thread gives this reply to every call. */
function replying(reply: JavaScriptReply) {
  const startThread = (): JavaScriptWorker => {
    const worker = new EventEmitter();
    const postMessage = (message: { kind: string }): void => {
      if (message.kind === 'call') worker.emit('message', reply);
    };
    return Object.assign(worker, { postMessage, terminate: () => Promise.resolve() });
  };
  const libraries = new KnownLibraries();
  libraries.set([{ scope: null, name: 'l', code: 'function f() {}' }]);
  const threads = new JavaScriptThreads({ startThread, clock: new ManualClock(), threadsMax: 1 });
  const functions = new JavaScriptFunctions({ threads, libraries });
  const definition = { scope: null, name: 'f', parameters: [], isVariadic: true, body: 'f', library: 'l' };
  return () =>
    functions.call(definition, [], { session: 1, user: 'u', signal: new AbortController().signal });
}

test('a result that is nested too deeply is an error of the call', async () => {
  const levels = 100_000;
  const call = replying({ kind: 'returned', text: `{"value":${'['.repeat(levels)}${']'.repeat(levels)}}` });
  await assert.rejects(call(), (error: SqlError) => {
    assert.equal(error.code, 10109);
    assert.match(JSON.stringify(error.reason), /the result: it has more than 2000 levels/);
    return true;
  });
});

test('the stack in an error is shortened if the function throws an error with a very long stack', async () => {
  const stack = `at f (functions/l.js:1:1)${'x'.repeat(100_000)}\n`.repeat(100);
  const call = replying({ kind: 'thrown', exception: '"x"', stack });
  await assert.rejects(call(), (error: SqlError) => JSON.stringify(error.reason).length < 5_000);
});
