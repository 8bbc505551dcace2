import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('a namespace without a scope names the global function, in any query context', async () => {
  // A global function has no bucket and no scope.
  const bodyOf = (path: readonly string[]) => (path.join('.') === '..f' ? '"global"' : '"of the scope"');
  const found = { parameters: [], isVariadic: false, language: 'inline' } as const;
  const userFunctions = { find: (path: readonly string[]) => ({ ...found, body: bodyOf(path) }) };
  const rows = await query(new MemoryDatastore(), 'SELECT RAW [f(), default:f(), f()]', { userFunctions });
  assert.deepEqual(rows, [['of the scope', 'global', 'of the scope']]);
});

test('CREATE FUNCTION refuses a body with a name that is no parameter', () => {
  const prepare = (statement: string) => prepareOn(new MemoryDatastore(), statement);
  for (const [head, body] of [
    ['f(a)', 'a + b'],
    ['f()', 'args'],
    ['f(a)', 'ARRAY v + b FOR v IN a END'],
  ])
    assert.throws(() => prepare(`CREATE FUNCTION ${head} { ${body} }`), {
      code: 10103,
      message: /Ambiguous reference to field '(b|args)'/,
    });
  for (const [head, body] of [
    ['f(a)', 'ARRAY v + i + a.b FOR i: v IN a END'],
    ['f(...)', 'args[0]'],
    ['f(a)', '(SELECT b, a FROM t WHERE c = a)'],
    ['f(a)', 'f(a) + g() + $1'],
  ])
    prepare(`CREATE FUNCTION ${head} { ${body} }`);
});

test('functions whose names have dots in different parts of the path are different functions', async () => {
  const userFunctions = {
    find: (path: readonly string[]) =>
      ({
        parameters: [],
        isVariadic: false,
        language: 'inline',
        body: JSON.stringify(path.join(' ')),
      }) as const,
  };
  const statement = 'SELECT default:a.b.`c.d`() AS x, default:`a.b`.c.d() AS y';
  assert.deepEqual(await query(new MemoryDatastore(), statement, { userFunctions }), [
    { x: 'a b c.d', y: 'a.b c d' },
  ]);
});
