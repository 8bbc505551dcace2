import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { equal } from './comparison.ts';
import { identityOf, isDigest, shownIdentityOf } from './identity.ts';
import { numberLiteral } from './number-literal.ts';
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

test('numbers have one text exactly if they are equal', () => {
  const literals = [
    '1234567890123456800',
    '1.2345678901234568e18',
    '1234567890123456768',
    '-1234567890123456800',
  ];
  const others = [
    '-1.2345678901234568e18',
    '9223372036854775807',
    '9.223372036854776e18',
    '1e19',
    '0',
    '-0.0',
    '1.5',
  ];
  const numbers = [...literals, ...others, '1e400', '-1e400'].map(numberLiteral);
  for (const a of numbers)
    for (const b of numbers)
      for (const textOf of [identityOf, shownIdentityOf]) {
        assert.equal(textOf(a) === textOf(b), equal(a, b), `${a} and ${b}`);
        assert.equal(textOf([a]) === textOf([b]), equal(a, b), `[${a}] and [${b}]`);
      }
  assert.equal(identityOf(Number.NaN), identityOf(Number.NaN));
  const texts = ['NaN', 'Infinity', '+Infinity"', '0'].map(identityOf);
  for (const number of numbers) assert.ok(!texts.includes(identityOf(number)), String(number));
});
