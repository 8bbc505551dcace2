import assert from 'node:assert/strict';
import { test } from 'node:test';
import { versionJson } from './version-json.ts';

test('the JSON of a document version in a backup contains the text of the value unchanged, between the other members', () => {
  const [others, metadata] = [
    { backup: 'b', sequence_number: 7, key: '"value":', deleted: false },
    { cas: '1', locktime: 0 },
  ];
  const json = (value: string) => versionJson({ ...others, value, metadata });
  assert.equal(
    json('{"id": 12345678901234567890}'),
    '{"backup":"b","sequence_number":7,"key":"\\"value\\":","deleted":false,"value":{"id": 12345678901234567890},"metadata":{"cas":"1","locktime":0}}',
  );
  assert.deepEqual(JSON.parse(json('null')), { ...others, value: null, metadata });
});
