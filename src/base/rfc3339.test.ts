import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rfc3339Ms } from './rfc3339.ts';

test('times with a zone are read, in lower case as well', () => {
  for (const text of ['2030-01-31T12:00:00Z', '2030-01-31t12:00:00z', '2030-01-31T13:30:00.000+01:30'])
    assert.equal(rfc3339Ms(text), Date.UTC(2030, 0, 31, 12), text);
});

test('other texts are no times, though JavaScript would read them', () => {
  for (const text of [
    '',
    '1',
    '2030',
    '2030-01-31',
    '2030-01-31T12:00:00',
    '31 Jan 2030',
    '2030-13-01T00:00:00Z',
  ])
    assert.ok(Number.isNaN(rfc3339Ms(text)), text);
});
