import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { needs } from './needs.ts';

test('test files that look for network namespaces at the same time all find them', {
  skip: needs('namespaces'),
}, async () => {
  const script = `
    import { needs } from ${JSON.stringify(import.meta.resolve('./needs.ts'))};
    for (let round = 0; round < 10; round++) console.log(needs('namespaces'));`;
  const { CI: _, NODE_TEST_CONTEXT: __, ...env } = process.env;
  const probe = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env });
  const found = await Promise.all([probe(), probe(), probe(), probe()]);
  for (const { stdout } of found) assert.equal(stdout, 'false\n'.repeat(10));
});
