import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isVolatile } from './conjuncts.ts';

test('a call that may vary within a request, or is expensive, is not duplicated by the plan', () => {
  const isCallVolatile = (name: string): boolean =>
    isVolatile({ kind: 'not', of: { kind: 'call', name, arguments: [], at: 0 }, at: 0 });
  for (const name of ['random', 'uuid', 'clock_millis', 'clock_local', 'curl', 'advisor', 'search'])
    assert.equal(isCallVolatile(name), true, name);
  for (const name of ['now_millis', 'now_local', 'node_name', 'current_users', 'upper'])
    assert.equal(isCallVolatile(name), false, name);
});
