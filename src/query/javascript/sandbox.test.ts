import assert from 'node:assert/strict';
import { before, beforeEach, test } from 'node:test';
import { type JavaScriptReply, javaScriptLimits } from './javascript-messages.ts';
import { Sandbox } from './sandbox.adapter.ts';

let sandbox: Sandbox;
/** How often the sandbox may still check whether it is interrupted: a limit that does not depend on time. */
let checksLeft = 0;

before(async () => {
  sandbox = await Sandbox.load(() => --checksLeft < 0);
});
beforeEach(() => {
  checksLeft = 1_000_000;
});

const file = 'functions/lib.js';

function call(code: string, values: readonly unknown[] = [], undefinedAt: readonly number[] = []) {
  const text = JSON.stringify(values);
  const library = { file, code };
  return sandbox.run({ kind: 'call', library, name: 'f', arguments: text, undefinedAt });
}

function returned(reply: JavaScriptReply): unknown {
  assert.equal(reply.kind, 'returned', JSON.stringify(reply));
  return (JSON.parse(reply.kind === 'returned' ? reply.text : '') as { value?: unknown }).value;
}

function thrown(reply: JavaScriptReply): unknown {
  assert.equal(reply.kind, 'thrown', JSON.stringify(reply));
  return JSON.parse(reply.kind === 'thrown' ? reply.exception : '');
}

test('the sandbox calls a function with JSON values, and with undefined where an argument is missing', () => {
  assert.deepEqual(returned(call('function f(a, b) { return [b, a]; }', [{ x: [1.5, 'é'] }, null])), [
    null,
    { x: [1.5, 'é'] },
  ]);
  assert.deepEqual(returned(call('function f(...a) { return a.map((x) => typeof x); }', [null, null], [1])), [
    'object',
    'undefined',
  ]);
  assert.equal(returned(call('function f() {}')), undefined);
  assert.deepEqual(returned(call('function f() { return new Date(0); }')), '1970-01-01T00:00:00.000Z');
});

test('the sandbox interrupts endless loops, of code and of regular expressions', () => {
  for (const body of [
    'for (;;);',
    'try { for (;;); } finally { return 1; }',
    'for (;;) try { null.x; } catch {}',
    'return /^(a+)+$/.test("a".repeat(40) + "b");',
  ]) {
    checksLeft = 5;
    assert.deepEqual(call(`function f() { ${body} }`), { kind: 'interrupted' }, body);
  }
  checksLeft = 5;
  assert.deepEqual(call('for (;;); function f() {}'), { kind: 'interrupted' });
  checksLeft = 1_000;
  assert.equal(returned(call('function f() { return 1; }')), 1);
});

test('the sandbox bounds memory, the stack and the result', () => {
  assert.match(String(thrown(call('function f() { return new ArrayBuffer(1e9); }'))), /memory|length/);
  assert.match(
    String(thrown(call('function f() { let a = [1]; for (;;) a = a.concat(a); }'))),
    /out of memory/,
  );
  assert.match(String(thrown(call('function f(n) { return f(n + 1) + 1; }'))), /stack overflow/);
  const reply = call(`function f() { return 'x'.repeat(${javaScriptLimits.resultLength}); }`);
  assert.deepEqual(reply, {
    kind: 'refused',
    type: 'Limit exceeded',
    reason: `the result must have at most ${javaScriptLimits.resultLength} characters as JSON text`,
  });
  assert.match(String(thrown(call('function f() { const a = {}; a.a = a; return a; }'))), /circular/);
  assert.match(String(thrown(call('function f() { return 1n; }'))), /TypeError/);
  assert.equal(returned(call('function f() { return 1; }')), 1);
});

test('code in the sandbox has nothing outside of the language: no input and output, no timers, no modules', () => {
  const names = 'fetch process require console setTimeout Buffer std os WebAssembly Worker Deno'.split(' ');
  const types = names.map((name) => `typeof ${name}`).join();
  assert.deepEqual(
    returned(call(`function f() { return [${types}]; }`)),
    names.map(() => 'undefined'),
  );
  assert.match(String(thrown(call("import 'fs'; function f() {}"))), /SyntaxError/);
  const reach = "return Function('return typeof process + typeof globalThis.constructor.constructor')();";
  assert.equal(returned(call(`function f() { ${reach} }`)), 'undefinedfunction');
  const reply = call("function f() { return import('fs'); }");
  assert.equal(reply.kind, 'refused');
  assert.match(String(thrown(call("function f() { return N1QL('SELECT 1'); }"))), /N1QL\(\): statements/);
});

test('a library that changes built-in objects harms only itself', () => {
  const hostile = `
    JSON.parse = JSON.stringify = Map.prototype.get = Array.prototype.map = () => { throw 1; };
    Object.prototype.toJSON = () => ({ absent: true });
    Function.prototype.call = Function.prototype.apply = null;
    Error.prototype.toString = () => { for (;;); };`;
  assert.equal(call(`${hostile} function f() { return { a: 1 }; }`).kind, 'refused');
  for (const value of ['null', '1', '"x"', '[]', 'undefined']) {
    const toJSON = `Object.prototype.toJSON = () => ${value}; function f() { return { a: 1 }; }`;
    assert.equal(call(toJSON).kind, value === 'undefined' ? 'returned' : 'thrown', value);
  }
  checksLeft = 5;
  assert.deepEqual(call(`${hostile} function f() { throw new Error('x'); }`), { kind: 'interrupted' });
  checksLeft = 1_000;
  assert.deepEqual(returned(call('function f(a) { return { a, b: [1].map(String) }; }', [1])), {
    a: 1,
    b: ['1'],
  });
  const getter = 'throw { get x() { throw new Proxy({}, { get() { throw 1; } }); } };';
  assert.equal(call(`function f() { ${getter} }`).kind, 'thrown');
  assert.equal(returned(call('function f() { return 1; }')), 1);
});

test('global variables last until a call sends a library again, or fails', () => {
  const next = 'let n = 0; function f(end) { if (end) throw end; return ++n; }';
  assert.equal(returned(call(next)), 1);
  const again = { kind: 'call', library: null, name: 'f', arguments: '[]', undefinedAt: [] } as const;
  assert.equal(returned(sandbox.run(again)), 2);
  assert.equal(returned(call(next)), 1);
  assert.equal(thrown(call(next, ['end'])), 'end');
  assert.equal(sandbox.run(again).kind, 'broken');
});

test('the sandbox reports an exception with its place, and refuses a name that is no function of the library', () => {
  const reply = call('function f() {\n  throw new TypeError("no");\n}');
  assert.equal(thrown(reply), 'TypeError: no');
  assert.match(reply.kind === 'thrown' ? (reply.stack ?? '') : '', /at f \(functions\/lib\.js:2:/);
  assert.deepEqual(thrown(call('function f() { throw { code: 7 }; }')), { code: 7 });
  assert.match(String(thrown(call('function f() { return x; }'))), /ReferenceError/);
  assert.match(String(thrown(call('throw new Error("top"); function f() {}'))), /Error: top/);
  for (const code of ['', 'const f = 1;', 'var f = 1;', 'const f = () => 1;']) {
    const refused = call(code);
    assert.equal(refused.kind, 'refused', code);
  }
  const builtIn = { kind: 'call', library: { file, code: '' }, name: 'parseInt' } as const;
  assert.equal(sandbox.run({ ...builtIn, arguments: '["1"]', undefinedAt: [] }).kind, 'refused');
  const asynchronous = call('async function f() { return 1; }');
  assert.equal(asynchronous.kind === 'refused' && asynchronous.type, 'Not supported');
});

test('the sandbox checks the syntax of a library without running it', () => {
  const checkLibrary = (code: string) => sandbox.run({ kind: 'check', library: { file, code } });
  assert.deepEqual(checkLibrary('function f() {} throw new Error("not run");'), { kind: 'checked' });
  const wrong = checkLibrary('function f() {\n  const q = SELECT 1;\n}');
  assert.match(String(thrown(wrong)), /SyntaxError/);
  assert.match(wrong.kind === 'thrown' ? (wrong.stack ?? '') : '', /lib\.js:2/);
});
