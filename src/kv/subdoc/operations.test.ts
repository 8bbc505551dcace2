import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { SubdocOpcode as Op } from '#wire/subdoc-opcodes.ts';
import { lookUp, mutate } from './operations.ts';

const hex = (status: number) => status.toString(16);
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
/** `{"1":{"2":…{}…}}` with the given number of objects, and the path to the innermost. */
const deepObject = (depth: number) =>
  numbers(depth - 1)
    .map((i) => `{"${i}":`)
    .join('') +
  '{}' +
  '}'.repeat(depth - 1);
const deepPath = (depth: number) => numbers(depth - 1).join('.');

function looked(opcode: number, text: string, path: string): string {
  const { status, value } = lookUp(opcode, Buffer.from(text), Buffer.from(path));
  return status === Status.success ? value.toString() : hex(status);
}

/**
 * `expected`: the result, or the status in hexadecimal digits: c0 path not found, c1 path mismatch, c2 path invalid, c3 path too big,
 * c4 document too deep, c5 value cannot be inserted, c6 document not JSON, c7 number out of range, c8 delta invalid, c9 path exists, ca
 * value too deep.
 */
type Row = [text: string, path: string, expected: string];

function checkLookups(opcode: number, rows: readonly Row[]): void {
  for (const [text, path, expected] of rows)
    assert.equal(looked(opcode, text, path), expected, `${text} ${path}`);
}

test('get returns the exact bytes of the value at the path', () => {
  const text = ' { "a" : 1.50 , "b":[ 1, {"c" : "x\\n"} ,null ], "d.e":true, "q\\"":2, "\\u00e9":3, "a":9 } ';
  checkLookups(Op.get, [
    [text, 'a', '1.50'],
    [text, 'b', '[ 1, {"c" : "x\\n"} ,null ]'],
    [text, 'b[1]', '{"c" : "x\\n"}'],
    [text, 'b[1].c', '"x\\n"'],
    [text, 'b[-1]', 'null'],
    [text, 'b[2]', 'null'],
    [text, '`d.e`', 'true'],
    [text, 'q\\"', '2'],
    [text, 'é', '3'],
    ['[[1,2],[3]]', '[0][1]', '2'],
    ['[[1,2],[3]]', '[-1][-1]', '3'],
    ['{"a":"}],"}', 'a', '"}],"'],
    ['{"b":"a","a":1}', 'a', '1'],
  ]);
});

test('get distinguishes a missing path from one through a wrong type', () => {
  checkLookups(Op.get, [
    ['{"a":1}', 'b', 'c0'],
    ['{"a":{}}', 'a.b', 'c0'],
    ['{"a":{}}', 'a.b.c', 'c0'],
    ['{"a":[]}', 'a[0]', 'c0'],
    ['{"a":[]}', 'a[-1]', 'c0'],
    ['{"a":[1]}', 'a[1]', 'c0'],
    ['{"a":1}', 'a.b', 'c1'],
    ['{"a":"x"}', 'a[0]', 'c1'],
    ['{"a":null}', 'a.b', 'c1'],
    ['{"a":{}}', 'a[0]', 'c1'],
    ['{"a":[]}', 'a.b', 'c1'],
    ['[]', 'a', 'c1'],
    ['{}', '[0]', 'c1'],
    ['1', 'a', 'c1'],
    ['{"a":1}', 'a..b', 'c2'],
    ['{"a":1}', Array(32).fill('a').join('.'), 'c3'],
  ]);
});

test('get refuses text that is not JSON, and truncated text', () => {
  checkLookups(Op.get, [
    ['', 'a', 'c6'],
    ['{', 'a', 'c6'],
    ['{"a"', 'a', 'c6'],
    ['{"a":', 'a', 'c6'],
    ['{"a":"x', 'a', 'c6'],
    ['{"b":1 "a":2}', 'a', 'c6'],
    ['{b:1}', 'a', 'c6'],
  ]);
  const text = '{"a":[1,{"b":"c"}],"d":2}';
  for (let end = 0; end < text.length; end++) assert.equal(looked(Op.get, text.slice(0, end), 'd'), 'c6');
});

test('get goes 32 levels deep and no deeper', () => {
  checkLookups(Op.get, [
    [deepObject(32), deepPath(32), '{}'],
    [deepObject(33), deepPath(32), 'c4'],
    [`{"a":${nested(31)},"b":1}`, 'b', '1'],
    [`{"a":${nested(32)},"b":1}`, 'b', 'c4'],
    [`{"b":1,"a":${nested(32)}}`, 'b', '1'],
    [`{"a":${nested(500)}}`, 'b', 'c4'],
  ]);
});

test('exists returns only its status', () => {
  checkLookups(Op.exists, [
    ['{"a":[1]}', 'a', ''],
    ['{"a":[1]}', 'a[0]', ''],
    ['{"a":[1]}', 'b', 'c0'],
    ['{"a":[1]}', 'a.b', 'c1'],
  ]);
});

test('get_count counts entries of arrays and objects, including the root', () => {
  checkLookups(Op.getCount, [
    ['[]', '', '0'],
    ['[1, 2 ,[3,4],{"a":5}]', '', '4'],
    ['{"a":{"b":1,"c":[1,2]}}', 'a', '2'],
    ['{"a":{"b":1,"c":[1,2]}}', '', '1'],
    ['{ }', '', '0'],
    ['{"a":1}', 'a', 'c1'],
    ['"text"', '', 'c1'],
    ['{"a":1}', 'b', 'c0'],
  ]);
});

type Change = [text: string, path: string, value: string, expected: string];

function changed(opcode: number, mkdirP: boolean, [text, path, value]: Change): string {
  const edit = mutate(opcode, mkdirP, Buffer.from(text), Buffer.from(path), Buffer.from(value));
  return edit.status === Status.success ? edit.text.toString() : hex(edit.status);
}

function checkChanges(opcode: number, mkdirP: boolean, rows: readonly Change[]): void {
  for (const row of rows) assert.equal(changed(opcode, mkdirP, row), row[3], row.slice(0, 3).join(' '));
}

test('dict_add and dict_upsert store a member and keep all other bytes', () => {
  for (const opcode of [Op.dictAdd, Op.dictUpsert]) {
    checkChanges(opcode, false, [
      ['{}', 'a', '1', '{"a":1}'],
      ['{ }', 'a', '1', '{ "a":1}'],
      ['{ "b" : 1.0e0 }', 'a', '[2]', '{ "b" : 1.0e0 ,"a":[2]}'],
      ['{"a":{"b":1},"c":2}', 'a.d', '{"e":3}', '{"a":{"b":1,"d":{"e":3}},"c":2}'],
      ['[{}]', '[0].a', 'null', '[{"a":null}]'],
      ['[{},{}]', '[-1].a', 'null', '[{},{"a":null}]'],
      ['{}', '`a.b`', '1', '{"a.b":1}'],
      ['{}', 'q\\"', '1', '{"q\\"":1}'],
      ['{}', 'a.b', '1', 'c0'],
      ['{"a":{}}', 'a[0]', '1', 'c1'],
      ['[]', '[0]', '1', 'c2'],
      ['[]', 'a', '1', 'c1'],
      ['{"a":1}', 'a.b', '1', 'c1'],
      ['{}', '', '1', 'c5'],
      ['{}', 'a', 'x', 'c5'],
      ['{}', 'a', '1,2', 'c5'],
      ['{}', 'a', '1,"b":2', 'c5'],
      ['{}', 'a', ' ', 'c5'],
      ['{}', 'a', nested(31), `{"a":${nested(31)}}`],
      ['{}', 'a', nested(32), 'ca'],
      [deepObject(31), `${deepPath(31)}.x`, '{}', deepObject(31).replace('{}', '{"x":{}}')],
      [deepObject(31), `${deepPath(31)}.x`, '[[]]', 'ca'],
    ]);
  }
  checkChanges(Op.dictAdd, false, [['{"a":1}', 'a', '2', 'c9']]);
  checkChanges(Op.dictUpsert, false, [['{"a": 1 ,"b":2}', 'a', '[2]', '{"a": [2] ,"b":2}']]);
});

test('mkdir_p creates the missing objects of the path', () => {
  checkChanges(Op.dictUpsert, true, [
    ['{}', 'a.b.c', '1', '{"a":{"b":{"c":1}}}'],
    ['{"x":1}', 'a.b', '1', '{"x":1,"a":{"b":1}}'],
    ['{"a":{"x":1}}', 'a.b.c', '1', '{"a":{"x":1,"b":{"c":1}}}'],
    ['{}', 'a[0].b', '1', 'c0'],
    ['{}', 'a.b[0].c', '1', 'c0'],
    ['{"a":1}', 'a.b.c', '1', 'c1'],
  ]);
  checkChanges(Op.pushLast, true, [
    ['{}', 'a.b', '1,2', '{"a":{"b":[1,2]}}'],
    ['{"a":[0]}', 'a', '1', '{"a":[0,1]}'],
  ]);
  checkChanges(Op.pushFirst, true, [['{}', 'a', '1,2', '{"a":[1,2]}']]);
  checkChanges(Op.addUnique, true, [['{}', 'a', '1', '{"a":[1]}']]);
  checkChanges(Op.counter, true, [['{}', 'a.b', '-5', '{"a":{"b":-5}}']]);
});

test('replace requires an existing member or element', () => {
  checkChanges(Op.replace, false, [
    ['{"a" : 1 }', 'a', '{"x":[]}', '{"a" : {"x":[]} }'],
    ['[1, 2,3]', '[1]', '"two"', '[1, "two",3]'],
    ['[1, 2,3]', '[-1]', '4', '[1, 2,4]'],
    ['{"a":1}', 'b', '1', 'c0'],
    ['[1]', '[1]', '1', 'c0'],
    ['{"a":1}', 'a.b', '1', 'c1'],
    ['{"a":1}', '', '1', 'c5'],
    ['{"a":1}', 'a', '1 2', 'c5'],
    ['{"a":1}', 'a', nested(32), 'ca'],
  ]);
});

test('delete removes an entry with the right comma', () => {
  checkChanges(Op.delete, false, [
    ['{"a":1}', 'a', '', '{}'],
    ['{ "a" : 1 }', 'a', '', '{  }'],
    ['{"a":1,"b":2,"c":3}', 'a', '', '{"b":2,"c":3}'],
    ['{"a":1,"b":2,"c":3}', 'b', '', '{"a":1,"c":3}'],
    ['{"a":1,"b":2,"c":3}', 'c', '', '{"a":1,"b":2}'],
    ['{"a":1 , "b" : 2 }', 'b', '', '{"a":1  }'],
    ['{"a":1 , "b" : 2 }', 'a', '', '{ "b" : 2 }'],
    ['[1,[2],3]', '[1]', '', '[1,3]'],
    ['[1,[2],3]', '[-1]', '', '[1,[2]]'],
    ['[1]', '[0]', '', '[]'],
    ['{"a":{"b":[1]}}', 'a.b[0]', '', '{"a":{"b":[]}}'],
    ['{"a":1}', 'b', '', 'c0'],
    ['{"a":1}', 'a.b', '', 'c1'],
    ['{"a":1}', '', '', 'c5'],
  ]);
});

test('push_last and push_first add one value or several', () => {
  checkChanges(Op.pushLast, false, [
    ['[]', '', '1', '[1]'],
    ['[ ]', '', '1', '[ 1]'],
    ['[1, 2 ]', '', '3,4', '[1, 2 ,3,4]'],
    ['{"a":[[1]]}', 'a', '{"b":2}', '{"a":[[1],{"b":2}]}'],
    ['{"a":[[1]]}', 'a[0]', '2', '{"a":[[1,2]]}'],
    ['{}', 'a', '1', 'c0'],
    ['{"a":{}}', 'a', '1', 'c1'],
    ['{"a":1}', 'a', '1', 'c1'],
    ['{}', '', '1', 'c1'],
    ['[]', '', '1,', 'c5'],
    ['[]', '', ' ', 'c5'],
    ['[]', '', '1],[2', 'c5'],
    ['[]', '', nested(31), `[${nested(31)}]`],
    ['[]', '', nested(32), 'ca'],
  ]);
  checkChanges(Op.pushFirst, false, [
    ['[]', '', '1', '[1]'],
    ['[ 1, 2]', '', '3,4', '[3,4, 1, 2]'],
    ['{"a":[1]}', 'a', '0', '{"a":[0,1]}'],
    ['{}', 'a', '1', 'c0'],
    ['{"a":{}}', 'a', '1', 'c1'],
    ['[]', '', 'x', 'c5'],
  ]);
});

test('array_insert puts values before an element or after the last element', () => {
  checkChanges(Op.arrayInsert, false, [
    ['[]', '[0]', '1', '[1]'],
    ['[1, 2]', '[0]', '0', '[0,1, 2]'],
    ['[1, 2]', '[1]', '8,9', '[1, 8,9,2]'],
    ['[1, 2]', '[2]', '3', '[1, 2,3]'],
    ['{"a":[1]}', 'a[1]', '[2]', '{"a":[1,[2]]}'],
    ['[1, 2]', '[3]', '3', 'c0'],
    ['{}', 'a[0]', '3', 'c0'],
    ['{"a":{}}', 'a[0]', '3', 'c1'],
    ['{"a":1}', 'a[0]', '3', 'c1'],
    ['[1]', '[-1]', '3', 'c2'],
    ['{"a":[]}', 'a', '3', 'c2'],
    ['[1]', '', '3', 'c2'],
    ['[]', '[0]', '', 'c5'],
    ['[]', '[0]', nested(32), 'ca'],
  ]);
});

test('add_unique adds only primitives that the array does not contain', () => {
  checkChanges(Op.addUnique, false, [
    ['[]', '', '1', '[1]'],
    ['[1,"a",true,null]', '', '"b"', '[1,"a",true,null,"b"]'],
    ['[1,"a",true,null]', '', '"a"', 'c9'],
    ['[1, null ]', '', ' null ', 'c9'],
    ['[10]', '', '1', '[10,1]'],
    ['[1,[2]]', '', '1', 'c1'],
    ['[{},1]', '', '3', 'c1'],
    ['{"a":1}', 'a', '1', 'c1'],
    ['{}', 'a', '1', 'c0'],
    ['[]', '', '[1]', 'c5'],
    ['[]', '', '{}', 'c5'],
    ['[]', '', '1,2', 'c5'],
    ['[]', '', 'x', 'c5'],
  ]);
});

test('counter adds exactly within int64 and returns the number', () => {
  const max = '9223372036854775807';
  const min = '-9223372036854775808';
  checkChanges(Op.counter, false, [
    ['{"a" : 1 }', 'a', '2', '{"a" : 3 }'],
    ['{"a":9007199254740993}', 'a', '2', '{"a":9007199254740995}'],
    ['{"a":-5}', 'a', '5', '{"a":0}'],
    ['{"a":0}', 'a', min, `{"a":${min}}`],
    [`{"a":${max}}`, 'a', min, '{"a":-1}'],
    [`{"a":${max}}`, 'a', '1', 'c5'],
    [`{"a":${min}}`, 'a', '-1', 'c5'],
    ['{"a":9223372036854775808}', 'a', '1', 'c7'],
    ['{"a":-9223372036854775809}', 'a', '1', 'c7'],
    [`{"a":${'9'.repeat(400)}}`, 'a', '1', 'c7'],
    ['[1]', '[0]', '1', '[2]'],
    ['[1]', '[1]', '1', 'c0'],
    ['{}', 'n', '7', '{"n":7}'],
    ['{}', 'a.b', '7', 'c0'],
    ['{"a":1.5}', 'a', '1', 'c1'],
    ['{"a":1e3}', 'a', '1', 'c1'],
    ['{"a":"1"}', 'a', '1', 'c1'],
    ['{"a":[1]}', 'a', '1', 'c1'],
    ['{"a":true}', 'a', '1', 'c1'],
    ...['0', '-0', '', 'x', '1.5', '1e2', '+1', '01', ' 1', '9223372036854775808', '--1', '1'.repeat(30)].map(
      (delta): Change => ['{"a":1}', 'a', delta, 'c8'],
    ),
  ]);
  const text = Buffer.from('{"a":40}');
  assert.equal(mutate(Op.counter, false, text, Buffer.from('a'), Buffer.from('2')).value.toString(), '42');
  assert.equal(mutate(Op.counter, false, text, Buffer.from('b'), Buffer.from('-2')).value.toString(), '-2');
});
