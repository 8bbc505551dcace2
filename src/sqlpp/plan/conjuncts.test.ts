import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declarations } from '../functions/catalogue.ts';
import { isVolatile } from './conjuncts.ts';

/** Their values change between requests, but not during one. */
const ofTheRequest = new Set(['node_name', 'current_users']);

test('a call of a volatile or expensive function is not duplicated by the plan', () => {
  const call = (name: string) => ({ kind: 'call', name, arguments: [], at: 0 }) as const;
  const names = [...declarations].filter(({ isVolatile }) => isVolatile).map(({ name }) => name);
  assert.ok(names.includes('curl'));
  const duplicated = names.filter((name) => !isVolatile(call(name)) && !ofTheRequest.has(name));
  assert.deepEqual(duplicated, []);
});
