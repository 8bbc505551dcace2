import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseOptions } from './options.ts';
import { upEnvironment, upOptions } from './up-options.ts';

test('the password of the environment counts for divan up only with a user name', () => {
  const started = (args: readonly string[], environment: Record<string, string>) => {
    const { username, password } = parseOptions(upOptions, args, upEnvironment(args, environment));
    return [username, password];
  };
  const environment = { DIVAN_PASSWORD: 'password' };
  assert.deepEqual(started([], environment), [undefined, undefined]);
  assert.deepEqual(started([], { ...environment, DIVAN_USERNAME: '' }), [undefined, undefined]);
  assert.deepEqual(started([], { ...environment, DIVAN_USERNAME: 'a' }), ['a', 'password']);
  assert.deepEqual(started(['--username', 'a'], environment), ['a', 'password']);
  assert.deepEqual(started(['--username=a'], environment), ['a', 'password']);
  // A password that is given as an option is passed on to the start of the node, which refuses it without a user name.
  assert.deepEqual(started(['--password', 'p'], environment), [undefined, 'p']);
});
