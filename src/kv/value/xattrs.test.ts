import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyStart, getXattr, XattrWalk } from '#wire/xattr-section.ts';
import { aSeed, randomBytes } from '../../../test/support/random.ts';
import {
  isXattrKey,
  isXattrSection,
  removeXattr,
  setXattr,
  systemXattrBytes,
  systemXattrs,
} from './xattrs.ts';

const bytesOf = (text: string) => Buffer.from(text);
const empty = Buffer.alloc(0);

function aSection(pairs: Record<string, string>): Buffer {
  let section: Buffer = empty;
  for (const [key, value] of Object.entries(pairs)) section = setXattr(section, bytesOf(key), bytesOf(value));
  return section;
}

function pairsOf(section: Buffer): Record<string, string> {
  const walk = new XattrWalk();
  const pairs: Record<string, string> = {};
  walk.begin(section, 0, section.length);
  while (walk.next()) {
    pairs[section.toString('utf8', walk.keyStart, walk.keyEnd)] = section.toString(
      'utf8',
      walk.valueStart,
      walk.valueEnd,
    );
  }
  return pairs;
}

const valid = (bytes: Buffer) => isXattrSection(bytes, 0, bytes.length);

test('a section of xattrs has the published layout, byte for byte', () => {
  const section = aSection({ _s: '1', user: '{}' });
  assert.equal(section.toString('latin1'), '\0\0\0\x15\0\0\0\x05_s\x001\0\0\0\0\x08user\0{}\0');
  assert.ok(valid(section));
  const value = Buffer.concat([section, bytesOf('body')]);
  assert.equal(bodyStart(value, 0, value.length), section.length);
  assert.ok(valid(value));
});

test('keys of a section are set, replaced, read and removed, and the others keep their order', () => {
  let section = aSection({ a: '1', b: '[2]', _c: '"3"' });
  assert.equal(getXattr(section, bytesOf('b'))?.toString(), '[2]');
  assert.equal(getXattr(section, bytesOf('bb')), null);
  assert.equal(getXattr(empty, bytesOf('b')), null);
  section = setXattr(section, bytesOf('b'), bytesOf('{"longer":true}'));
  assert.deepEqual(Object.entries(pairsOf(section)), [
    ['a', '1'],
    ['b', '{"longer":true}'],
    ['_c', '"3"'],
  ]);
  section = removeXattr(section, bytesOf('a'));
  assert.deepEqual(pairsOf(section), { b: '{"longer":true}', _c: '"3"' });
  assert.ok(valid(section));
  assert.equal(removeXattr(section, bytesOf('none')), section);
  assert.equal(removeXattr(removeXattr(section, bytesOf('_c')), bytesOf('b')).length, 0);
});

test('the system part of a section has only its system keys, also if the section is in the middle of a buffer', () => {
  const section = aSection({ user: '1', _sys: '{"a":1}', other: '2', _t: 'true' });
  const systemPart = systemXattrs(section, 0, section.length);
  assert.deepEqual(pairsOf(systemPart), { _sys: '{"a":1}', _t: 'true' });
  assert.equal(systemXattrBytes(section, 0, section.length), systemPart.length - 4);
  const page = Buffer.concat([bytesOf('xx'), section, bytesOf('body, and the next')]);
  assert.deepEqual(systemXattrs(page, 2, 2 + section.length + 4), systemPart);
  const userOnly = aSection({ user: '1' });
  assert.equal(systemXattrs(userOnly, 0, userOnly.length).length, 0);
});

test('valid keys are accepted and others refused', () => {
  const validKeys = ['a', '_a', 'A1', '9', ' a', 'a-b_c', 'a$b', 'é', 'fifteen_bytes__', '__', 'a]'];
  const invalid = [
    '',
    '_',
    '$a',
    '$',
    '.a',
    'a.b',
    'a[0',
    '[',
    '-a',
    '\x01a',
    '\x7f',
    'a\0b',
    '~a',
    '{a',
    '@a',
    '`a',
  ];
  invalid.push('sixteen_bytes___');
  for (const key of validKeys) assert.ok(isXattrKey(bytesOf(key), 0, bytesOf(key).length), key);
  for (const key of invalid) assert.ok(!isXattrKey(bytesOf(key), 0, bytesOf(key).length), key);
  assert.ok(!isXattrKey(Buffer.from('61ff', 'hex'), 0, 2));
});

test('sections with wrong lengths, keys or values are refused', () => {
  const broken: Record<string, string> = {
    'shorter than its length field': '\0\0\0',
    'longer than the value': '\0\0\0\x05abcd',
    'room for no pair': '\0\0\0\x06\0\0\0\x02a\0',
    'pair over the end of the section': '\0\0\0\x08\0\0\0\x05a\x001\0',
    'no end of key': '\0\0\0\x08\0\0\0\x04aaa\0',
    'no end of value': '\0\0\0\x08\0\0\0\x04a\x0012',
    'not JSON': '\0\0\0\x08\0\0\0\x04a\0x\0',
    'no value': '\0\0\0\x07\0\0\0\x03a\0\0',
    'no key': '\0\0\0\x07\0\0\0\x03\x001\0',
    'bad key': '\0\0\0\x09\0\0\0\x05$a\x001\0',
    'key twice': '\0\0\0\x10\0\0\0\x04a\x001\0\0\0\0\x04a\x002\0',
    'pair shorter than the section': '\0\0\0\x0a\0\0\0\x04a\x001\0xx',
    'huge pair': '\0\0\0\x08\xff\xff\xff\xffa\x001\0',
    'huge section': '\xff\xff\xff\xff\0\0\0\x04a\x001\0',
  };
  for (const [name, text] of Object.entries(broken)) assert.ok(!valid(Buffer.from(text, 'latin1')), name);
  assert.ok(valid(Buffer.alloc(4)), 'a section without pairs is refused');
});

test('every truncated section is refused, and so are random bytes on which a walk would fail', (t) => {
  const random = aSeed(t);
  const section = aSection({ a: '1', _b: '{"c":[1,2]}', c: '"text"' });
  for (let end = 0; end < section.length; end++) assert.ok(!isXattrSection(section, 0, end));
  let accepted = 0;
  for (let round = 0; round < 20_000; round++) {
    const hostile = Buffer.from(section);
    for (let changes = random(3); changes >= 0; changes--) hostile[random(hostile.length)] = random(256);
    const bytes = random(4) === 0 ? randomBytes(random, random(40)) : hostile;
    if (!valid(bytes)) continue;
    accepted++;
    pairsOf(bytes);
    systemXattrs(bytes, 0, bytes.length);
  }
  assert.ok(accepted > 0);
});
