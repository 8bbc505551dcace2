import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { identityOf, isDigest, shownIdentityOf } from './identity.ts';
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

test('long values have short texts, which differ: V8 hashes longer ones by their length only', () => {
  const long = 'x'.repeat(20_000);
  const values = [
    `${long}1`,
    `${long}2`,
    [long, 1],
    [long, 2],
    { a: long },
    `${long}\ud800`,
    `${long}\ud801`,
    `${long}\ufffd`,
  ];
  const texts = values.map(identityOf);
  assert.equal(new Set(texts).size, values.length);
  assert.ok(texts.every((text) => text.length < 100 && isDigest(text)));
  assert.ok(!isDigest(identityOf('#')));
  assert.equal(identityOf([long, 1]), identityOf([`${long.slice(1)}x`, 1]));
  assert.equal(shownIdentityOf([long, undefined]), shownIdentityOf([long, null]));
});
