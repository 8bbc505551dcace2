import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { identityOf } from './identity.ts';
import { Binary } from './value.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('texts of values take no more memory than their characters and a header', () => {
  const count = 100_000;
  const texts: string[] = new Array(count).fill('');
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < count; at++) texts[at] = identityOf([`name ${at}`, at % 25, true]);
  collectGarbage();
  const bytes = (process.memoryUsage().heapUsed - before) / count;
  assert.equal(new Set(texts).size, count);
  assert.ok(bytes < 150, `${bytes} bytes for each text of ${texts[0]?.length} characters`);
});

test('arrays of different binary values have different texts', () => {
  const binary = (text: string) => new Binary(Buffer.from(text));
  assert.notEqual(identityOf([binary('a'), binary('b')]), identityOf([binary('abb')]));
  assert.equal(identityOf([binary('a'), binary('b')]), identityOf([binary('a'), binary('b')]));
});
