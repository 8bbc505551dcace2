import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkDisk } from './check-disk.ts';

test('a folder in which no file can be written is a finding', { skip: process.platform !== 'linux' }, () => {
  const problems = checkDisk('/proc').filter(({ state }) => state === 'problem');
  assert.match(problems.map(({ text }) => text).join(), /cannot be written|may not write/);
});
