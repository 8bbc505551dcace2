import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IndexKey } from '#sqlpp/datastore/indexes.ts';
import { aSeed, type Json, randomJson } from '../../../test/support/random.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { compileDefinition } from './compile-definition.ts';
import { hasFieldKeysOnly } from './compile-fields.ts';
import type { IndexedDocument } from './compiled-definition.ts';
import { DefinitionCompiler } from './definition-compiler.ts';
import { RowMaker } from './row-maker.ts';

const documentOf = (body: Uint8Array, isJson = true): IndexedDocument => ({
  id: 'd',
  body,
  isJson,
  cas: 5n,
  expiration: 7,
  flags: 3,
  xattr: () => undefined,
});

const ofFields: (string | Partial<IndexKey>)[][] = [
  [],
  ['`a`'],
  ['`a`.`b`', '`c`'],
  ['`é€`', '`with space`.`a`.`name`'],
  [{ expression: '`b`', isDescending: true, includesMissing: true }, '`a`'],
];

test('plain fields that are compiled without the query language give the same rows as with it', async (t) => {
  const random = aSeed(t);
  const compiler = new DefinitionCompiler();
  const definitions = ofFields.map((keys) => aDefinition(keys));
  await compiler.prepare(definitions);
  let rows = 0;
  const name = () => ['a', 'b', 'c', 'é€', 'with space', 'name'][random(6)] as string;
  const document = (depth: number): Json =>
    depth === 0 || random(3) === 0
      ? randomJson(random, 2)
      : Object.fromEntries(Array.from({ length: random(5) }, () => [name(), document(depth - 1)]));
  for (let round = 0; round < 500; round++) {
    const body = Buffer.from(JSON.stringify(document(4)));
    for (const definition of definitions) {
      assert.ok(hasFieldKeysOnly(definition));
      const indexed = documentOf(body, random(20) > 0);
      const id = Buffer.from('d');
      const found = new RowMaker(compiler.compile(definition)).keysOf(indexed, id).map(String);
      const expected = new RowMaker(compileDefinition(definition)).keysOf(indexed, id).map(String);
      assert.deepEqual(found, expected, `${JSON.stringify(definition.keys)} of ${body.toString()}`);
      rows += found.length;
    }
  }
  assert.ok(rows > 500);
});

test('keys other than plain fields are compiled by the query language once it is loaded', async () => {
  const others = [
    aDefinition(['LOWER(`a`)']),
    aDefinition(['`a`'], { condition: '(`b` = 1)' }),
    aDefinition([{ expression: '(distinct `a`)', array: 'distinct' }]),
    aDefinition(['`a`[0]']),
    aDefinition(['`a``b`']),
    aDefinition(['`a`i']),
  ];
  const compiler = new DefinitionCompiler();
  for (const definition of others) {
    assert.equal(hasFieldKeysOnly(definition), false, definition.keys[0]?.expression);
    assert.throws(() => compiler.compile(definition), /not loaded/);
  }
  await Promise.all([compiler.prepare([]), compiler.prepare(others)]);
  for (const definition of others) assert.ok(compiler.compile(definition));
});
