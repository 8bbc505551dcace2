import assert from 'node:assert/strict';
import { test } from 'node:test';
import { throwAwayFolder } from './throw-away.ts';

test('only folders of throw-away nodes can be named for deletion', () => {
  const named = (throwAway: unknown) => throwAwayFolder({ throwAway }, '/tmp');
  assert.equal(named('/tmp/divan-testing-a1'), '/tmp/divan-testing-a1');
  for (const other of [
    '/tmp/other',
    '/home/divan-testing-a',
    '/tmp/divan-testing-a/..',
    '/tmp/divan-testing-/../..',
    7,
  ])
    assert.equal(named(other), null);
  assert.equal(throwAwayFolder(undefined), null);
});
