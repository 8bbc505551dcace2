import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { KnownLibraries } from '../functions/known-libraries.ts';
import { libraryCodeBytesMax } from '../query.contract.ts';
import { JavaScriptFunctions } from './javascript-functions.ts';
import { JavaScriptThreads } from './javascript-threads.ts';

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
