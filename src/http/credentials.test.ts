import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAuthorization } from './credentials.ts';

test('Basic credentials are read in any case of the scheme and with any blanks', () => {
  const pair = { kind: 'basic', name: 'a', password: 'b:c' };
  for (const header of ['Basic YTpiOmM=', 'basic   YTpiOmM', ' BASIC\tYTpiOmM= ']) {
    assert.deepEqual(parseAuthorization(header), pair, header);
  }
  for (const header of [undefined, '', '  ', 'Basic', 'Basic  ']) {
    assert.deepEqual(parseAuthorization(header), { kind: 'none' }, header);
  }
  for (const header of ['Bearer YTpi', 'BasicYTpi', 'Basic YTpi YTpi', 'Basic ?', 'Basic =']) {
    assert.deepEqual(parseAuthorization(header), { kind: 'unusable' }, header);
  }
});

test('a header full of blanks, which anybody may send, is read in linear time', () => {
  const header = `Basic${' '.repeat(60_000)}a b`;
  const before = process.cpuUsage();
  assert.deepEqual(parseAuthorization(header), { kind: 'unusable' });
  const { user, system } = process.cpuUsage(before);
  assert.ok((user + system) / 1_000 < 500, `${(user + system) / 1_000} ms`);
});
