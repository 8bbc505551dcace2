import assert from 'node:assert/strict';
import { executionAsyncId } from 'node:async_hooks';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const context = import.meta.resolve('./test-context.js');

test('tests have no hook that is called for every promise', {
  skip: !process.execArgv.some((argument) => argument.includes(context)),
}, async () => {
  await Promise.resolve();
  // Only such a hook gives an id to what runs after a promise.
  assert.equal(executionAsyncId(), 0);
});

test('an uncaught error is reported as one of the test whose timer or promise it comes from', () => {
  const script = `
    import { test } from 'node:test';
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const never = () => new Promise(() => {});
    test('timer', async () => { setTimeout(() => { throw new Error('planted'); }, 1); await never(); });
    test('promise', async () => { pause(1).then(() => { Promise.reject(new Error('planted')); }); await never(); });
    test('after its end', () => { setTimeout(() => { throw new Error('planted'); }, 1); });
    test('none', () => pause(20));`;
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout } = spawnSync(
    process.execPath,
    [`--import=${context}`, '--test-reporter=tap', '--input-type=module', '-e', script],
    { encoding: 'utf8', env, timeout: 120_000 },
  );
  assert.equal(status, 1, stdout);
  assert.deepEqual(stdout.match(/^(not )?ok .*/gm), [
    'not ok 1 - timer',
    'not ok 2 - promise',
    'ok 3 - after its end',
    'ok 4 - none',
  ]);
  assert.match(
    stdout,
    /^# Error: Test "after its end".* generated asynchronous activity after the test ended/m,
  );
});
