// Objects of literals in long statements are one constant, whether their text is read as JSON or token by token.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CountedText } from '../../../test/support/counted-text.ts';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import type { Expression } from '../tree/expression.ts';
import { formatExpression } from './format.ts';
import { LiteralObjects } from './literal-objects.ts';
import { parseExpression } from './parser.ts';

const filler = ' '.repeat(32 << 10);
const read = (object: string) => new LiteralObjects(`${object}${filler}`).at(0)?.value;

/** The second argument of a call, as the key and the document of VALUES are read. */
function argumentOf(object: string): Expression {
  const call = parseExpression(`object_put("key", ${object}, "${filler}")`);
  return (call as Extract<Expression, { kind: 'call' }>).arguments[1] as Expression;
}

const same = [
  '{}',
  '{"a": 1, "b": [true, null, {"c": "x, {y} [z]: é"}], "d": -1.5e3}',
  '{"2": 2, "10": 1, "__proto__": {"constructor": 1}, "a": 9007199254740991}',
];
const others = [
  '{"a": 9007199254740993}',
  '{"a": 1, "a": 2}',
  '{"a": "\\u0041"}',
  '{"a": 1 /* comment */}',
  "{'a': 1}",
  '{"a": b}',
  '{"a": 1 + 1}',
  '{"a": MISSING}',
  '{"a": "\n"}',
  '{"a": 01}',
  '{"a": 1',
  `{"a": ${'['.repeat(150)}1${']'.repeat(150)}}`,
];

test('an object of literals of a long statement is one constant that means the same', () => {
  for (const object of same) {
    const node = argumentOf(object);
    assert.equal(node.kind, 'constant', object);
    const plain = parseExpression(object);
    assert.equal(plain.kind, 'object', object);
    assert.equal(formatExpression(node), formatExpression(plain));
  }
  for (const object of others) assert.equal(read(object), undefined, object);
});

test('documents of a long INSERT are stored as those of short ones', async () => {
  const documents = [...same, ...others.slice(0, 3), '{"a": 1 + 1}', '{"10": 1, "2": 2}'];
  const stored = async (between: string) => {
    const datastore = new MemoryDatastore();
    datastore.add('t');
    const rows = documents.map((document, at) => `("k${at}", ${document})`);
    await query(datastore, `INSERT INTO t VALUES ${rows.join(`,${between}`)}`);
    return await query(datastore, 'SELECT META().id, t FROM t ORDER BY META().id');
  };
  assert.deepEqual(await stored(filler), await stored(' '));
});

test('text of brackets that never close is searched once', () => {
  for (const part of ['{"a":', '{"', '{"a":[1,']) {
    const text = part.repeat(20_000);
    const objects = new LiteralObjects(new CountedText(text, 2 * text.length) as unknown as string);
    for (let at = 0; at < text.length; at++) assert.equal(objects.at(at), undefined);
  }
});
