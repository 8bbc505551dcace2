import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lowerCase, upperCase } from './letter-case.ts';

test('each letter changes its case by itself, without its neighbours', () => {
  const cases: [text: string, upper: string, lower: string][] = [
    ['Straße 12', 'STRAßE 12', 'straße 12'],
    ['ΟΔΟΣ οδός', 'ΟΔΟΣ ΟΔΌΣ', 'οδοσ οδός'],
    ['İzmir ısı', 'İZMIR ISI', 'izmir ısı'],
    ['ﬁn ŉ ǰ', 'ﬁN ŉ ǰ', 'ﬁn ŉ ǰ'],
    ['ᾳ ᾄ ᾓ ῳ', 'ᾼ ᾌ ᾛ ῼ', 'ᾳ ᾄ ᾓ ῳ'],
    ['𐐀𐐨 😀 Ǆ', '𐐀𐐀 😀 Ǆ', '𐐨𐐨 😀 ǆ'],
  ];
  for (const [text, upper, lower] of cases) {
    assert.equal(upperCase(text), upper);
    assert.equal(lowerCase(text), lower);
  }
});

test('no letter becomes two, and ASCII is as in JavaScript', () => {
  for (let code = 0; code < 0x20000; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const letter = String.fromCodePoint(code);
    for (const changed of [upperCase(letter), lowerCase(letter)])
      assert.equal([...changed].length, 1, letter);
  }
  assert.equal(upperCase('a\0z~{'), 'A\0Z~{');
  assert.equal(lowerCase('A\0Z~{'), 'a\0z~{');
});
