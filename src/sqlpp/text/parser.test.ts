import assert from 'node:assert/strict';
import test from 'node:test';
import { SqlError } from '../errors/sql-error.ts';
import type { Expression } from '../tree/expression.ts';
import { formatExpression } from './format.ts';
import { parseExpression, parseStatement } from './parser.ts';

/** The canonical text, whose parentheses show the precedence of operators. */
function canonical(text: string): string {
  return formatExpression(parseExpression(text));
}

function refusal(text: string): string {
  try {
    parseStatement(text);
  } catch (error) {
    assert.ok(error instanceof SqlError, String(error));
    assert.equal(error.code, 3000);
    return error.message;
  }
  return assert.fail(`${text} was accepted`);
}

test('operators have the documented precedence', () => {
  const cases: [string, string][] = [
    ['a OR b AND NOT c = d', '(`a` or (`b` and (not (`c` = `d`))))'],
    ['a = b < c', '(`a` = (`b` < `c`))'],
    ['a + b * c || d', '((`a` + (`b` * `c`)) || `d`)'],
    ['-a.b[0]', '(- ((`a`.`b`)[0]))'],
    ['a IN b IS NULL', '(`a` in (`b` is null))'],
    ['a LIKE b ESCAPE c AND d', '((`a` like `b` escape `c`) and `d`)'],
    ['a NOT BETWEEN 1 AND 2 AND b', '((`a` not between 1 and 2) and `b`)'],
    ['EXISTS a IS MISSING', '(exists (`a` is missing))'],
    ['a IS NOT KNOWN', '(`a` is not valued)'],
    ['a = NOT b', '(`a` = (not `b`))'],
    ['a.b.`c`i.[d]i', '(((`a`.`b`).`c`i).[`d`]i)'],
  ];
  for (const [text, expected] of cases) assert.equal(canonical(text), expected);
});

test('an expression that other text follows is refused', () => {
  assert.throws(() => parseExpression('a[1:], b'), SqlError);
});

test('comparisons do not chain', () => {
  assert.match(
    refusal('SELECT 1 = 2 = 3'),
    /^syntax error - line 1, column 14, near 'SELECT 1 = 2', at: =; expected AND/,
  );
  assert.match(refusal('SELECT a NOT IN b IN c'), /at: IN \(reserved word\); expected AND/);
  assert.match(refusal('SELECT a NOT LIKE b LIKE c'), /at: LIKE \(reserved word\); expected AND/);
  assert.equal(canonical('a IN b NOT IN c'), '((`a` in `b`) not in `c`)');
  assert.equal(
    canonical('a NOT BETWEEN b AND c BETWEEN d AND e'),
    '((`a` not between `b` and `c`) between `d` and `e`)',
  );
});

test('chains of AND and OR are one node, however long and however nested', () => {
  const expression = parseExpression(Array(5000).fill('a').join(' AND ')) as Extract<
    Expression,
    { kind: 'logical' }
  >;
  assert.equal(expression.operands.length, 5000);
  assert.equal(canonical('a AND (b AND c)'), '(`a` and `b` and `c`)');
});

test('a syntax error has its line and column, the text before it and the word that is wrong', () => {
  assert.match(refusal("this isn't a query"), /^syntax error - line 1, column 6, near 'this', at: isn;/);
  assert.match(refusal('SELECT * FROM'), /^syntax error - at end of input; expected an expression$/);
  assert.match(refusal('SELECT a.* AS d'), /column 12, near 'SELECT a.\*', at: AS \(reserved word\)/);
  assert.match(refusal('SELECT 1\n  FROM b WHERE'), /at end of input/);
  assert.match(refusal('SELECT 1\n  FROM b WERE c'), /line 2, column 15, near ' {2}FROM b WERE', at: c/);
  assert.match(refusal('SELECT a AS from'), /at: from \(reserved word\); expected a name; .*`from`/);
  assert.match(
    refusal('SELECT "abc'),
    /^syntax error: invalid quoted string - missing closing quote - line 1/,
  );
  assert.match(refusal('SELECT "\\q"'), /invalid escape sequence/);
  assert.match(refusal('SELECT /* a'), /missing end of comment/);
  assert.equal(refusal('1 + 2'), 'Input was not a statement.');
  assert.match(refusal(''), /at end of input; expected a statement/);
  assert.match(refusal('SHOW INDEXES'), /at: SHOW \(reserved word\); expected a statement/);
  // Published servers of 7.1 refuse these two as well.
  assert.match(refusal('EXPLAIN EXECUTE p'), /at: p; expected FUNCTION/);
  assert.match(refusal('INFER [1]'), /expected the name of a keyspace/);
  assert.match(refusal('a +'), /at end of input; expected an expression/);
});

test('the reserved words STRING and NUMBER are not literals', () => {
  for (const word of ['string', 'NUMBER', 'boolean', 'binary'])
    for (const statement of [
      `SELECT ${word} FROM t`,
      `SELECT * FROM t WHERE ${word} = 5`,
      `SELECT * FROM ${word} t`,
    ])
      assert.match(refusal(statement), /\(reserved word\)/, statement);
  assert.match(refusal('SELECT -number'), /at: number \(reserved word\)/);
});

test('the parser distinguishes the word END from the end of the text', () => {
  assert.match(refusal('SELECT ANY v IN a SATISFIES v'), /at end of input; expected END/);
  parseStatement('SELECT ANY v IN a SATISFIES v END');
});

test('a path is positioned at its last name, other expressions at their start or operator', () => {
  const positionOf = (text: string): number => parseExpression(text).at;
  assert.equal(positionOf('abc + 1'), 4);
  assert.equal(positionOf('a.bcd'), 2);
  assert.equal(positionOf('12'), 0);
});

test('a statement beyond a limit is refused, and the message names the limit', () => {
  for (const [open, close] of [
    ['(', ')'],
    ['ABS(', ')'],
    ['[', ']'],
    ['(SELECT ', ')'],
  ] as const) {
    const nested = (levels: number) => `SELECT ${open.repeat(levels)}1${close.repeat(levels)}`;
    // Each query is a level, and so is each expression: the statement has two without brackets, and a subquery adds two.
    const levelsMax = open.includes('SELECT') ? 199 : 398;
    parseStatement(nested(levelsMax));
    assert.match(refusal(nested(levelsMax + 1)), /at most 400 levels deep/, open);
  }
  assert.match(refusal(`SELECT ${'('.repeat(10_000)}1`), /at most 400 levels deep/);
  assert.match(refusal(`SELECT ${'NOT '.repeat(10_000)}1`), /at most 400 levels deep/);
  assert.match(refusal(`SELECT ${'['.repeat(10_000)}1`), /at most 400 levels deep/);
  assert.match(refusal(`SELECT -(a)${'+1'.repeat(3000)}`), /at most 2000 operators/);
  assert.match(refusal(`SELECT a${'.b'.repeat(3000)}`), /at most 2000 operators/);
  for (const step of ['.b', '[0]', '.[c]']) {
    const path = `a${step.repeat(3000)}`;
    assert.match(refusal(`UPDATE t SET ${path} = 1`), /at most 2000 operators/);
    assert.match(refusal(`UPDATE t UNSET ${path}`), /at most 2000 operators/);
    assert.match(refusal(`UPDATE t SET META().${path} = 1`), /at most 2000 operators/);
  }
  assert.match(refusal(`SELECT ${'x'.repeat(1_048_577)}`), /at most 1048576/);
});

test('strings can contain the escapes of JSON, doubled quotes and surrogates', () => {
  const literalValue = (text: string): unknown => (parseExpression(text) as { value: unknown }).value;
  assert.equal(literalValue(String.raw`"a\n\u00e4\"'\/"`), 'a\nä"\'/');
  assert.equal(literalValue("'it''s'"), "it's");
  assert.equal(literalValue(String.raw`"\ud83d\ude00"`), '😀');
  assert.equal(literalValue(String.raw`"\ud83d"`), '\ufffd');
  assert.equal(literalValue('"\ud83d"'), '\ufffd');
  assert.equal(canonical('`a``b`'), '`a``b`');
});

test('integers of up to 64 bits are exact, other numbers are doubles', () => {
  const literalValue = (text: string): unknown => (parseExpression(text) as { value: unknown }).value;
  assert.equal(literalValue('9223372036854775807'), 9223372036854775807n);
  assert.equal(literalValue('-9223372036854775807'), -9223372036854775807n);
  assert.equal(literalValue('9007199254740993'), 9007199254740993n);
  assert.equal(literalValue('9007199254740992'), 9007199254740992);
  assert.equal(literalValue('92233720368547758080'), 2 ** 63 * 10);
  assert.equal(literalValue('-1.5e3'), -1500);
});

test('every kind of statement parses to its kind', () => {
  const kinds: [string, string][] = [
    ['SELECT 1', 'select'],
    ['(SELECT 1) UNION ALL SELECT 2 ORDER BY 1 LIMIT 3', 'select'],
    ['((SELECT 1) UNION (SELECT 2)) EXCEPT SELECT 3;;', 'select'],
    ['WITH a AS (SELECT 1), b AS ([1]) FROM a LET c = 1 WHERE c SELECT RAW a', 'select'],
    ['WITH RECURSIVE a AS (SELECT 1) SELECT a.*, * EXCLUDE b FROM a', 'select'],
    ['INSERT INTO a (KEY, VALUE) VALUES ("k", 1), VALUES ("l", 2, {}), ("m", 3) RETURNING *', 'insert'],
    ['INSERT INTO default:a (KEY k, VALUE v, OPTIONS o) SELECT 1', 'insert'],
    ['UPSERT INTO a.b.c AS d VALUES ($1, $2) RETURNING RAW META(d).id', 'upsert'],
    ['DELETE FROM a USE KEYS "k" WHERE b LIMIT 1 RETURNING a', 'delete'],
    [
      'UPDATE a SET b.c[0] = 1 FOR d IN e FOR f : g WITHIN h WHEN i END, META(a).expiration = 0 UNSET j WHERE k',
      'update',
    ],
    [
      'MERGE INTO a USING b ON KEY b.c WHEN MATCHED THEN UPDATE SET d = 1 WHEN NOT MATCHED THEN INSERT (b.c)',
      'merge',
    ],
    [
      'MERGE INTO a USING (SELECT 1) b ON a.c = b.c WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT ("k", {})',
      'merge',
    ],
    ['CREATE PRIMARY INDEX IF NOT EXISTS ON a USING GSI WITH {"defer_build": true}', 'create index'],
    [
      'CREATE INDEX i IF NOT EXISTS ON a(b DESC INCLUDE MISSING, DISTINCT ARRAY c FOR c IN d END) PARTITION BY HASH(e) WHERE f',
      'create index',
    ],
    ['DROP INDEX a.i', 'drop index'],
    ['DROP INDEX i IF EXISTS ON a.b.c', 'drop index'],
    ['DROP PRIMARY INDEX ON a', 'drop index'],
    ['ALTER INDEX i ON a WITH {"action": "move"}', 'alter index'],
    ['BUILD INDEX ON a(i, "j", (SELECT RAW 1))', 'build indexes'],
    ['CREATE SCOPE a.b IF NOT EXISTS', 'create scope'],
    ['DROP SCOPE default:a.b', 'drop scope'],
    ['CREATE COLLECTION a.b.c', 'create collection'],
    ['DROP COLLECTION a.b.c IF EXISTS', 'drop collection'],
    ['TRUNCATE COLLECTION a.b.c', 'flush collection'],
    ['CREATE OR REPLACE FUNCTION f(a, b) { a + b }', 'create function'],
    ['CREATE FUNCTION default:a.b.f(...) LANGUAGE JAVASCRIPT AS "g" AT "lib"', 'create function'],
    ['DROP FUNCTION f IF EXISTS', 'drop function'],
    ['EXECUTE FUNCTION f(1)', 'execute function'],
    ['GRANT query_select, SELECT ON a, b.c, d.e.f TO u, local:v', 'grant'],
    ['REVOKE admin FROM u', 'revoke'],
    ['UPDATE STATISTICS FOR a(b, DISTINCT c) WITH {}', 'update statistics'],
    ['ANALYZE COLLECTION a.b.c INDEX ALL', 'update statistics'],
    ['ANALYZE INDEX i ON a', 'update statistics'],
    ['INFER KEYSPACE a WITH {"sample_size": 10}', 'infer'],
    ['EXPLAIN SELECT 1', 'explain'],
    ['ADVISE INDEX SELECT 1', 'advise'],
    ['PREPARE FORCE p FROM SELECT 1', 'prepare'],
    ['EXECUTE p USING [1]', 'execute'],
    ['START TRANSACTION ISOLATION LEVEL READ COMMITTED', 'begin transaction'],
    ['COMMIT', 'commit transaction'],
    ['ROLLBACK WORK TO SAVEPOINT s', 'rollback transaction'],
    ['SAVEPOINT s', 'savepoint'],
    ['SET TRANSACTION ISOLATION LEVEL READ COMMITTED', 'set transaction isolation'],
  ];
  for (const [text, kind] of kinds) assert.equal(parseStatement(text).kind, kind, text);
});

test('a FROM path without a namespace may be a keyspace or an expression', () => {
  const kindOfFrom = (text: string): unknown => {
    const statement = parseStatement(`SELECT 1 FROM ${text}`);
    assert.ok(statement.kind === 'select' && statement.body.kind === 'subselect');
    return statement.body.from?.kind;
  };
  assert.equal(kindOfFrom('a'), 'keyspace');
  assert.equal(kindOfFrom('a.b.c d'), 'keyspace');
  assert.equal(kindOfFrom('default:a'), 'keyspace');
  assert.equal(kindOfFrom('system:indexes'), 'keyspace');
  assert.equal(kindOfFrom('a.b'), 'expression');
  assert.equal(kindOfFrom('(a)'), 'expression');
  assert.equal(kindOfFrom('[1, 2] AS a'), 'expression');
  assert.equal(kindOfFrom('(SELECT 1) AS a'), 'subquery term');
  assert.equal(kindOfFrom('a JOIN b ON KEYS a.c'), 'join');
  assert.equal(kindOfFrom('a LEFT OUTER NEST b ON KEY b.c FOR a'), 'nest');
  assert.equal(kindOfFrom('a, LATERAL (SELECT 1) AS c'), 'join');
  assert.equal(kindOfFrom('a UNNEST a.b AS c'), 'unnest');
  assert.equal(kindOfFrom('a RIGHT JOIN b ON true'), 'join');
});

test('the message of a refused clause says what is wrong with it', () => {
  assert.match(
    refusal('SELECT 1 FROM (SELECT 1)'),
    /^Subquery \(near line 1, column \d+\) in FROM clause must have an alias\.$/,
  );
  assert.match(
    refusal('SELECT 1 FROM a.b USE INDEX (c)'),
    /^FROM Expression .* cannot have USE KEYS or USE INDEX\.$/,
  );
  assert.equal(
    refusal('SELECT * FROM purchase pu, product p JOIN orders ON true'),
    'Right side (`default`:`product` as `p` join `default`:`orders` on true (near line 1, column 52)) of a COMMA in a FROM clause must be a simple term or sub-query',
  );
  assert.match(
    refusal('MERGE INTO t USE KEYS ["a"] USING s ON t.a = s.a'),
    /^Keyspace reference cannot have USE KEYS hint in MERGE statement - line 1, column 29, near .*, at: USING$/,
  );
  assert.match(refusal('SELECT sum(*)'), /^Invalid aggregate function sum\(\*\)/);
  assert.match(
    refusal('SELECT count(1, 2)'),
    /^Number of arguments to function count \(near line 1, column 12\) must be 1\.$/,
  );
  assert.match(refusal('SELECT row_number()'), /^Invalid function row_number/);
  assert.match(
    refusal('SELECT max(a) IGNORE NULLS OVER ()'),
    /^RESPECT\|IGNORE NULLS syntax is not valid for function max/,
  );
  assert.match(refusal('CREATE INDEX i ON a(b DESC ASC)'), /^Duplicate or Invalid index key attribute/);
  assert.match(refusal('CREATE INDEX i ON a(b) WITH c'), /^WITH value must be static/);
});

test('the tree contains all hints, invalid ones with their problem', () => {
  const statement = parseStatement('SELECT /*+ INDEX(a i) USE_HASH(b/BUILD c) FAST use_nl ORDERED */ 1');
  assert.ok(statement.kind === 'select' && statement.body.kind === 'subselect');
  assert.deepEqual(
    statement.body.hints?.hints.map(({ name, arguments: list, problem }) => [name, list.join(' '), problem]),
    [
      ['index', 'a i', undefined],
      ['use_hash', 'b/BUILD', undefined],
      ['use_hash', 'c', undefined],
      ['fast', '', 'Invalid hint name'],
      ['use_nl', '', 'Missing argument for use_nl'],
      ['ordered', '', undefined],
    ],
  );
});

test('a call of an unknown function is parsed as a call of a user-defined function', () => {
  assert.equal(parseExpression('LOWER(a)').kind, 'call');
  assert.equal(parseExpression('replace(a, b, c)').kind, 'call');
  assert.equal(parseExpression('mine(a)').kind, 'user call');
  assert.equal(parseExpression('default:b.s.mine(a)').kind, 'user call');
  assert.equal(parseExpression('{default: lower(a)}').kind, 'object');
  assert.equal(
    refusal('select ARRAY_CONCAT(a)'),
    'Number of arguments to function ARRAY_CONCAT (near line 1, column 19) must be between 2 and 32767.',
  );
});
