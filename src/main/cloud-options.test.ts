import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpUrl } from './cloud-options.ts';

test('an address has http or https, and no account', () => {
  const { parse } = httpUrl('http://127.0.0.1:8091');
  for (const text of ['http://h:1', 'https://h']) assert.equal(parse(text), text);
  for (const text of ['httpss://h', 'http+unix://h', 'ftp://h', 'http://u@h', 'http://:p@h', 'http://h?a=b'])
    assert.throws(() => parse(text), /is not an address such as http:\/\/127/, text);
});
