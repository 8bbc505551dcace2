import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCollectionPath } from './collection-path.ts';

test('the path of a collection is parsed, a wrong one recognized', () => {
  const location = (bucket: string, scope = '_default', collection = '_default') => ({
    bucket,
    scope,
    collection,
    id: null,
  });
  assert.deepEqual(parseCollectionPath('b'), location('b'));
  assert.deepEqual(parseCollectionPath('default:`a.b`.`s``t`.c'), location('a.b', 's`t', 'c'));
  assert.deepEqual(parseCollectionPath('`default`:`b`.`s`.`c`'), location('b', 's', 'c'));
  for (const wrong of ['', 'a.b', 'a.b.c.d', '`a', 'a..c', '.'])
    assert.equal(parseCollectionPath(wrong), null, wrong);
});
