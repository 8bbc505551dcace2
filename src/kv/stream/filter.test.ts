import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStreamValue } from './filter.ts';

test('the value of a stream request is read as a filter, ids and a purge seqno', () => {
  assert.deepEqual(parseStreamValue('{"scope":"8","uid":"a","sid":7,"purge_seqno":"12"}'), {
    filter: { kind: 'scope', scope: 8 },
    streamId: 7,
    manifestUid: 10,
    purgeSeqno: 12,
  });
  assert.deepEqual(parseStreamValue('{"collections":["8","1f"]}')?.filter, {
    kind: 'collections',
    ids: new Set([8, 0x1f]),
  });
  assert.deepEqual(parseStreamValue('')?.filter, { kind: 'bucket' });
});

test('an invalid value of a stream request is refused', () => {
  const texts = [
    '{',
    '[]',
    'null',
    '1',
    '{"scope":8}',
    '{"collections":[]}',
    '{"collections":"8"}',
    '{"collections":[8]}',
  ];
  const more = [
    '{"scope":"8","collections":["8"]}',
    '{"sid":-1}',
    '{"sid":65536}',
    '{"sid":"1"}',
    '{"uid":"xyz"}',
  ];
  for (const text of [...texts, ...more, '{"purge_seqno":5}'])
    assert.equal(parseStreamValue(text), null, text);
});
