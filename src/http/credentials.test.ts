import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertGrowth } from '../../test/support/growth.ts';
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

test('a header full of blanks, which anybody may send, is read in linear time', async () => {
  await assertGrowth(1, 500, (blanks) => {
    for (let time = 0; time < 20; time++)
      assert.deepEqual(parseAuthorization(`Basic${' '.repeat(blanks)}a b`), { kind: 'unusable' });
  });
});
