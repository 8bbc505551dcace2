import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { test } from 'node:test';
import { aSeed, randomBytes, randomJson } from '../../../test/support/random.ts';
import { isJson, isUtf8Range, jsonDepth, jsonDepthMax } from './json.ts';

const accepts = (bytes: Buffer) => isJson(bytes, 0, bytes.length);

/** The same decision by the engine's parser, which accepts bytes that are not UTF-8. */
function parses(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return isUtf8(bytes);
  } catch {
    return false;
  }
}

const valid = [
  '0',
  '-0',
  '1',
  '-1.5e+10',
  '1E5',
  '1e-5',
  '0.1',
  '12345678901234567890123',
  'true',
  'false',
  'null',
  '""',
  '"a"',
  '"\\u0041\\n\\/\\b\\f\\r\\t\\"\\\\"',
  '"\\ud800"',
  '"é€😀"',
  '"\x7f"',
  ' \t\r\n1 ',
  '[]',
  '[ ]',
  '{}',
  '{ }',
  '[1,2]',
  '[ 1 , [ ] , { } ]',
  '{"a":1}',
  '{"":{"a":[null]},"b":""}',
  '{"a":1,"a":2}',
];
const invalid = [
  '',
  ' ',
  '01',
  '-',
  '+1',
  '1.',
  '.5',
  '1e',
  '1e+',
  '0x1',
  '1 2',
  'tru',
  'truex',
  'nul',
  'True',
  'NaN',
  'fals',
  '"',
  '"a',
  '"\\',
  '"\\x"',
  '"\\u12"',
  '"\\u12g4"',
  '"\n"',
  '"\0"',
  "'a'",
  'a',
  '\\',
  '\x0b1',
  '\0',
  '[',
  ']',
  '{',
  '}',
  '[1',
  '[1,',
  '[1,]',
  '[,1]',
  '[1 2]',
  '[1}',
  '{]',
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,',
  '{"a":1,}',
  '{,}',
  '{1:2}',
  '{"a" 1}',
  '{"a"::1}',
  '{"a":1:2}',
  '{"a":,}',
  '{"a"}',
  '[1:2]',
  '{}{}',
  '[],',
  ':',
  '\ufeff1',
  '{"a":1}x',
  ',',
  '"a""b"',
  '[[]',
  '[]]',
];

test('every form of JSON text is accepted and similar texts are refused, as the JavaScript engine does', () => {
  for (const text of valid) assert.ok(accepts(Buffer.from(text)), `good: ${text}`);
  for (const text of invalid) assert.ok(!accepts(Buffer.from(text)), `bad: ${text}`);
  for (const text of [...valid, ...invalid])
    assert.equal(accepts(Buffer.from(text)), parses(Buffer.from(text)), text);
});

test('bytes inside of strings that are not UTF-8 are refused, at every length of the character', () => {
  const broken = [
    '80',
    'bf',
    'c0af',
    'c1bf',
    'c2',
    'c2c2',
    'e08080',
    'e09fbf',
    'eda080',
    'e2',
    'e282',
    'e28228',
  ];
  broken.push('f08080af', 'f08fbfbf', 'f4908080', 'f5808080', 'ff', 'f09f98', 'f09f', 'f0', 'f09f9828');
  for (const hex of broken) {
    const bytes = Buffer.concat([Buffer.from('"'), Buffer.from(hex, 'hex'), Buffer.from('"')]);
    assert.ok(!accepts(bytes), hex);
    assert.ok(!isUtf8Range(bytes, 1, bytes.length - 1), hex);
  }
});

test('bytes outside of the range do not matter', () => {
  const bytes = Buffer.from('xx{"a":1}yy');
  assert.ok(isJson(bytes, 2, 9));
  for (let start = 0; start <= bytes.length; start++) {
    for (let end = start; end <= bytes.length; end++) {
      assert.equal(
        isJson(bytes, start, end),
        accepts(Buffer.from(bytes.subarray(start, end))),
        `${start} ${end}`,
      );
    }
  }
});

test('the depth of nesting is counted, and a text above its limit is refused, however deep it is', () => {
  for (const [text, depth] of [
    ['1', 0],
    ['[]', 1],
    ['[{},[[]]]', 3],
    ['{"a":{"b":1},"c":[]}', 2],
  ] as const) {
    assert.equal(jsonDepth(Buffer.from(text), 0, text.length), depth);
  }
  const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth));
  assert.ok(accepts(nested(jsonDepthMax)));
  assert.ok(!accepts(nested(jsonDepthMax + 1)));
  assert.ok(!accepts(Buffer.alloc(5_000_000, '[')));
  assert.ok(!accepts(Buffer.alloc(5_000_000, '{')));
});

test('random texts with bytes changed, inserted, removed or cut off are accepted if the JavaScript engine parses them', (t) => {
  const random = aSeed(t);
  let accepted = 0;
  for (let round = 0; round < 4000; round++) {
    let bytes = Buffer.from(JSON.stringify(randomJson(random, 4), null, random(3)));
    for (let changes = random(3); changes > 0; changes--) {
      const at = random(bytes.length + 1);
      const insert =
        random(2) === 0 ? randomBytes(random, random(3)) : Buffer.from('",:[]{}\\0e-.u '.charAt(random(14)));
      bytes = Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + random(2))]);
    }
    if (random(4) === 0) bytes = bytes.subarray(0, random(bytes.length + 1));
    assert.equal(accepts(bytes), parses(bytes), bytes.toString('hex'));
    if (accepts(bytes)) accepted++;
  }
  assert.ok(accepted > 400 && accepted < 3600, `both answers occur: ${accepted}`);
});
