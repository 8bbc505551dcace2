// The examples of the guide for tests run as they are written there, in a project that has this checkout as a dependency.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const guide = readFileSync(join(checkout, 'docs/guides/testing.md'), 'utf8');
const project = mkdtempSync(join(tmpdir(), 'divan-guide-'));
after(() => rmSync(project, { recursive: true, force: true }));
mkdirSync(join(project, 'node_modules'));
symlinkSync(checkout, join(project, 'node_modules/divan'));
symlinkSync(join(checkout, 'node_modules/couchbase'), join(project, 'node_modules/couchbase'));

const [nodeTest = '', vitest = ''] = [...guide.matchAll(/^```js\n(.*?)^```$/gms)].map(
  ([, code]) => code as string,
);

/** Runs the files in parallel, and returns the report. */
async function runTests(files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  // With this variable the inner runner would take itself for a recursive run, and skip the files.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', '--test-reporter=tap', ...Object.keys(files)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: project, env });
  return stdout;
}

test('the example for node:test passes, in two files at the same time', async () => {
  const report = await runTests({ 'one.test.mjs': nodeTest, 'two.test.mjs': nodeTest });
  assert.match(report, /^# pass 4$/m);
  assert.match(report, /^# fail 0$/m);
});

test('the example for Vitest passes with functions of node:test under the names of Vitest', async () => {
  const standIn = `
    import assert from 'node:assert/strict';
    export { after as afterAll, before as beforeAll, beforeEach, test } from 'node:test';
    export const expect = (value) => ({ toBe: (wanted) => assert.equal(value, wanted) });`;
  const code = vitest.replace("from 'vitest'", "from './stand-in.mjs'");
  assert.notEqual(code, vitest);
  writeFileSync(join(project, 'stand-in.mjs'), standIn);
  assert.match(await runTests({ 'vitest.test.mjs': code }), /^# pass 1$/m);
});
