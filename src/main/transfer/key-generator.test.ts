// Keys of imported documents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyGenerator } from './key-generator.ts';

const value = {
  id: 7,
  name: 'x',
  'a.b': 'dotted',
  address: { city: 'Łódź', 'post code': 1 },
  list: [1],
  none: null,
};
const rules = { seed: 's', keyBytesMax: 246 };
const keyOf = (text: string, ordinal = 0, seed = 's') =>
  new KeyGenerator(text).keyOf(value, ordinal, { ...rules, seed });

test('a key has texts, fields, nested fields and numbers that grow', () => {
  assert.equal(keyOf('airline::%id%'), 'airline::7');
  assert.equal(keyOf('%address.city%-%address.post code%'), 'Łódź-1');
  assert.equal(keyOf('%`a.b`%'), 'dotted');
  assert.equal(keyOf('k#MONO_INCR#', 4), 'k5');
  assert.equal(keyOf('#MONO_INCR[100]#', 4), '104');
  assert.equal(keyOf('100%% ##%id%'), '100% #7');
});

test('a UUID follows from the seed and the number of the record, so that a repeated import writes the same keys', () => {
  const uuid = keyOf('#UUID#', 3);
  assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(keyOf('#UUID#', 3), uuid);
  assert.equal(new Set([uuid, keyOf('#UUID#', 4), keyOf('#UUID#', 3, 't')]).size, 3);
});

test('the generator says why a record gets no key', () => {
  for (const name of ['absent', 'address', 'list', 'none', 'name.length', 'constructor'])
    assert.throws(() => keyOf(`%${name}%`), new RegExp(`no text or number in its field "${name}"`));
  assert.throws(() => new KeyGenerator('%id%').keyOf(null, 0, rules), /no text or number/);
  assert.throws(() => new KeyGenerator('%id%').keyOf({ id: '' }, 0, rules), /key would be empty/);
  assert.throws(
    () => new KeyGenerator('%id%').keyOf({ id: 'é'.repeat(124) }, 0, rules),
    /has 248 bytes; a key of this collection has at most 246/,
  );
});

test('a wrong pattern is refused with what would be right', () => {
  for (const text of ['%id', 'a#MONO_INC#', '#MONO_INCR[x]#', '100%'])
    assert.throws(() => new KeyGenerator(text), /should be %FIELD%, #MONO_INCR#/);
  assert.throws(() => new KeyGenerator(''), /is not a key/);
});
