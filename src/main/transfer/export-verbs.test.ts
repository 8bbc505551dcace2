import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../options.ts';
import type { Verb } from '../remote/verb.ts';
import { exportVerbs } from './export-verbs.ts';

test('divan export refuses two columns of one name', async () => {
  const [verb] = exportVerbs as readonly Verb[];
  const run = (given: object) =>
    verb?.run({ url: '', format: 'csv', 'include-key': '_key', ...given } as never, ['b', '-']);
  for (const [given, problem] of [
    [{ fields: ['a', '_key'] }, '--fields: "_key" is the column of the key; see --include-key'],
    [{ fields: ['a', 'b', 'a'] }, '--fields: "a" is given twice'],
    [{ fields: ['a', 'a'], 'include-key': '' }, '--fields: "a" is given twice'],
  ] as const)
    await assert.rejects(
      async () => run(given),
      (error) => error instanceof UsageError && error.message === problem,
    );
});
