// Documents and keys that an import makes of the records of a file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyGenerator } from './key-generator.ts';
import { documentOf } from './source-documents.ts';

test('integers of any size keep all digits in keys, and other numbers are as JSON writes them', () => {
  const keyOf = (text: string): string => {
    const record = { line: 1, end: 0, endLine: 1, content: Buffer.from(text) };
    const form = {
      keys: new KeyGenerator('%id%'),
      seed: 's',
      keyBytesMax: 246,
      ignoredFields: [],
      header: null,
      infersTypes: false,
      omitsEmpty: false,
    };
    return documentOf(record, 0, form).key;
  };
  assert.equal(keyOf('{"id":9007199254740993}'), '9007199254740993');
  assert.equal(keyOf('{"id":-12345678901234567890}'), '-12345678901234567890');
  assert.equal(keyOf('{"id":7,"other":9007199254740993}'), '7');
  assert.equal(keyOf('{"id":1.50,"other":9007199254740993}'), '1.5');
});
