// Hostile libraries in a real thread, whose stack is larger than that of a test.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { interruptionMs, JavaScriptThreads } from '../javascript-threads.ts';
import { startJavaScriptThread } from './start-javascript-thread.ts';

/** Timers of this clock fire only when a test advances it. */
const clock = new ManualClock();
const threads = new JavaScriptThreads({ clock, threadsMax: 1, startThread: startJavaScriptThread });
after(() => threads.stop());

const call = (code: string, signal = new AbortController().signal) =>
  threads.run({
    user: 'u',
    job: {
      kind: 'call',
      library: { file: 'functions/lib.js', code },
      name: 'f',
      arguments: '[7]',
      undefinedAt: [],
    },
    signal,
  });

const repeated = (text: string): string => `"${text}".repeat(1e5)`;

/** Hostile libraries by their aim. None of them may end the thread or affect the next call. */
const hostile: Readonly<Record<string, readonly string[]>> = {
  texts: [
    'Object.prototype.toJSON = () => undefined; function f() { return 1; }',
    'Object.prototype.toJSON = () => undefined; function f() { throw 1; }',
    'Object.prototype.toJSON = () => "x"; function f() { throw 1; }',
    'function f() { return "\\ud800\\u0000"; }',
    'function f() { return [undefined, f, Symbol(), NaN, -0]; }',
    'function f() { return Symbol(); }',
  ],
  exceptions: [
    'throw { get name() { throw 1; } };',
    'throw null;',
    'throw Symbol();',
    'throw 1n;',
    'function f() { throw Symbol(); }',
    'function f() { throw undefined; }',
    'function f() { const e = new Error(); Object.defineProperty(e, "stack", { get() { throw 1; } }); throw e; }',
    'Error.prepareStackTrace = () => ({}); function f() { throw new Error("x"); }',
    'Object.defineProperty(Error, Symbol.hasInstance, { value: () => { throw 2; } }); function f() { throw 1; }',
  ],
  globals: [
    'Object.defineProperty(globalThis, "f", { get() { throw 1; } });',
    'globalThis.f = class {};',
    'globalThis.f = Symbol;',
    'function f() { delete globalThis.JSON; globalThis.Array = null; return [1]; }',
    'Array.prototype[Symbol.iterator] = null; function f() { return 1; }',
  ],
  stack: [
    `function f() { return JSON.parse(${repeated('[')}); }`,
    `function f() { return new RegExp(${repeated('(')}); }`,
    `function f() { return Function('return ' + ${repeated('!')} + '1')(); }`,
    `function f() { return Function('return ' + ${repeated('[')} + ${repeated(']')})(); }`,
    'function f() { let x = []; for (let i = 0; i < 1e5; i++) x = [x]; return String(x); }',
    'function f() { let x = {}; for (let i = 0; i < 1e5; i++) x = new Proxy(x, {}); return x.a; }',
    'function f() { const a = {}; a.toJSON = () => ({ a }); return a; }',
  ],
  memory: [
    'function f() { return new SharedArrayBuffer(1e9).byteLength; }',
    'function f() { return new ArrayBuffer(8, { maxByteLength: 1e9 }).resize(5e8); }',
    'function f() { return Array.from({ length: 1e9 }); }',
    'function f() { let x = 3n; for (;;) x *= x; }',
    'function f() { let x = f; for (let i = 0; i < 3e4; i++) x = x.bind(null); return x(); }',
  ],
};

for (const [aim, libraries] of Object.entries(hostile))
  test(`hostile libraries that aim at ${aim} end with an answer, and the thread goes on`, async () => {
    for (const code of libraries) {
      const reply = await call(code);
      assert.ok(['returned', 'thrown', 'refused'].includes(reply.kind), `${code}: ${JSON.stringify(reply)}`);
      assert.deepEqual(
        await call('function f(x) { return x; }'),
        { kind: 'returned', text: '{"value":7}' },
        code,
      );
    }
    assert.equal(threads.count, 1);
  });

test('the whole memory of the engine has a limit of its own, because the engine does not count all of its memory', () => {
  // The growing names of bound functions leave gaps in its memory: without the limit the test before took two gigabytes.
  assert.ok(process.memoryUsage().rss < 1 << 30, `${process.memoryUsage().rss} bytes`);
});

test('a call that nothing can interrupt loses its thread, and the next one gets another', async () => {
  const ending = new AbortController();
  const endless = call('function f() { return new Array(4e9).join("x").length; }', ending.signal);
  ending.abort(new Error('cancelled'));
  await assert.rejects(endless, /cancelled/);
  const next = call('function f(x) { return x; }');
  clock.advance(interruptionMs);
  assert.deepEqual(await next, { kind: 'returned', text: '{"value":7}' });
});

test('functions run at low priority, so that endless ones do not delay other requests', async (context) => {
  if (process.platform !== 'linux') return context.skip('a thread has a priority of its own on Linux only');
  const niceValues = readdirSync('/proc/self/task').map((thread) => {
    const [, fields = ''] = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ');
    return Number(fields.split(' ')[16]);
  });
  assert.ok(threads.count > 0);
  assert.ok(niceValues.filter((nice) => nice === 10).length >= threads.count, niceValues.join());
});
