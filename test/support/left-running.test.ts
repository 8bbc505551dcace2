import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

test('a test file ends although its failed test left a process running', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-left-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'fails.test.mjs');
  writeFileSync(
    file,
    `import { spawn } from 'node:child_process';
     import { test } from 'node:test';
     import { endAfterTests } from ${JSON.stringify(import.meta.resolve('./left-running.ts'))};
     test('fails', () => {
       endAfterTests(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']));
       throw new Error('planted');
     });`,
  );
  // With this variable the inner runner would take itself for a recursive run, and skip the file.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = spawnSync(process.execPath, ['--test', file], { encoding: 'utf8', env, timeout: 120_000 });
  assert.deepEqual([run.signal, run.status], [null, 1], run.stdout);
  assert.match(run.stdout, /planted/);
});
