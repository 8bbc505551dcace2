// Long lists of literals are one constant, whether their text is read as JSON or token by token.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CountedText } from '../../../test/support/counted-text.ts';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { prepareStatement } from '../run/prepare.ts';
import type { Expression } from '../tree/expression.ts';
import { formatExpression } from './format.ts';
import { foldedFrom, LiteralLists } from './literal-lists.ts';
import { parseExpression } from './parser.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const listOf = (items: readonly unknown[]): string => `[${items.join(', ')}]`;

function constantIn(text: string): readonly unknown[] | undefined {
  const node = parseExpression(text) as Extract<Expression, { kind: 'constant' | 'array' }>;
  return node.kind === 'constant' ? (node.value as readonly unknown[]) : undefined;
}

test('a long list of literals is one constant, a shorter one has a node for each item', () => {
  assert.deepEqual(constantIn(listOf(numbers(foldedFrom))), numbers(foldedFrom));
  assert.equal(constantIn(listOf(numbers(foldedFrom - 1))), undefined);
  assert.equal(constantIn(listOf([...numbers(foldedFrom), 'a'])), undefined);
  assert.equal(constantIn(listOf([...numbers(foldedFrom), 'MISSING'])), undefined);
});

test('the text of a list means the same whether it is read as JSON or not', () => {
  const rest = numbers(foldedFrom).join();
  const jsonLists = ['-0', '1.5', '-1e3', '1e999', '"a b"', '"ä😀"', 'true', 'null', '12345678'];
  for (const item of jsonLists) {
    const text = `[${rest}, ${item}]`;
    assert.ok(new LiteralLists(text).at(0), item);
    assert.deepEqual(constantIn(text), constantIn(`[${rest}, ${item} /* read token by token */]`), item);
  }
  const others = ['9007199254740993', '"a\\u0041"', "'a'", '"\ud83d"', '"a]"', '1 -- comment\n', '[1]', '{}'];
  for (const item of others) assert.equal(new LiteralLists(`[${rest}, ${item}]`).at(0), undefined, item);
  assert.deepEqual(constantIn(`[${rest}, 9007199254740993, "a\\u0041", 'a']`)?.slice(-3), [
    9007199254740993n,
    'aA',
    'a',
  ]);
  assert.throws(() => parseExpression(`[${rest}, 01]`), /syntax error/);
  assert.throws(
    () => parseExpression(`a [${rest}]`),
    ({ message }: Error) => message.length < 3_000,
  );
});

test('a text of brackets without long lists is searched once', () => {
  for (const part of ['[1', '["', '[1,']) {
    const text = part.repeat(10_000);
    // A search for the end of the first list, and the character after each bracket.
    const lists = new LiteralLists(new CountedText(text, 2 * text.length) as unknown as string);
    for (let at = 0; at < text.length; at++) assert.equal(lists.at(at), undefined);
  }
});

test('the canonical text of a long list parses to the same tree', () => {
  const text = formatExpression(parseExpression(`a in ${listOf(numbers(foldedFrom))}`));
  assert.match(text, /\[0, 1, 2, /);
  assert.equal(formatExpression(parseExpression(text)), text);
});

test('very many comparisons of a path with constants become one list', () => {
  const joined = (operator: string, word: string) =>
    parseExpression(
      numbers(foldedFrom)
        .map((n) => `b ${word} 1 ${operator} ${n} ${word} x.a`)
        .join(` ${operator} `),
    );
  const or = joined('or', '=');
  assert.ok(or.kind === 'logical' && or.operands.length === 2);
  assert.match(formatExpression(or), /^\(\(`b` in \[1, 1, .*\) or \(\(`x`\.`a`\) in \[0, 1, .*\)\)$/);
  assert.match(formatExpression(joined('and', '!=')), /`b` not in \[1, .*\) and \(\(`x`\.`a`\) not in \[0, /);
  const kept = parseExpression(
    numbers(foldedFrom)
      .map((n) => `RANDOM() = ${n}`)
      .join(' or '),
  );
  assert.ok(kept.kind === 'logical' && kept.operands.length === foldedFrom, 'each has a value of its own');
});

test('a statement with a long list returns the same rows as one with a parameter, with and without an index', async () => {
  const datastore = new MemoryDatastore();
  const keyspace = datastore.add('t');
  const values = [0, 5, 1024, 2000, 'a', null, true, [1], { b: 1 }, 1.5];
  for (const [at, a] of values.entries()) datastore.put(keyspace, `k${at}`, { a, b: at });
  datastore.put(keyspace, 'none', { b: 1 });
  const list = [...numbers(foldedFrom), 'a'];
  const text = JSON.stringify(list);
  const tests = (word: string, operator: string) =>
    list.map((item) => `a ${word} ${JSON.stringify(item)}`).join(` ${operator} `);
  const named = new Map([['list', list]]);
  for (const hasIndex of [false, true]) {
    if (hasIndex) await query(datastore, 'CREATE INDEX ia ON t(a)');
    for (const [long, short] of [
      [`a IN ${text}`, 'a IN $list'],
      [tests('=', 'OR'), 'a IN $list'],
      [`a NOT IN ${text}`, 'a NOT IN $list'],
      [tests('!=', 'AND'), 'a NOT IN $list'],
    ] as const) {
      const rows = (condition: string) =>
        query(datastore, `SELECT RAW META().id FROM t WHERE ${condition} ORDER BY META().id`, { named });
      assert.deepEqual(await rows(long), await rows(short), `${short} ${hasIndex}`);
      const results = (condition: string) =>
        query(datastore, `SELECT RAW [${condition}, b] FROM t ORDER BY b, a`, { named });
      assert.deepEqual(await results(long), await results(short), short);
    }
  }
  const { explain } = prepareStatement(`SELECT b FROM t WHERE a IN ${text}`, {
    datastore,
    sequentialScans: true,
  });
  assert.match(JSON.stringify(explain), /"index":"ia"/);
});

test('a long list is accepted wherever a list in brackets is', async () => {
  const datastore = new MemoryDatastore();
  const list = numbers(foldedFrom);
  const { execute } = prepareStatement(`EXECUTE p USING ${listOf(list)}`, {
    datastore,
    sequentialScans: true,
  });
  assert.deepEqual(execute, { name: 'p', using: list });
  for (const from of [
    `[1] AS t, LATERAL ${listOf(list)} AS x`,
    `[1] AS t JOIN LATERAL ${listOf(list)} AS x ON t = x`,
    `[1] AS t UNNEST ${listOf(list)} AS x`,
    `${listOf(list)} AS x`,
  ]) {
    const isJoin = from.includes('JOIN');
    assert.deepEqual(
      await query(datastore, `SELECT RAW x FROM ${from}`),
      isJoin ? [1] : list,
      from.slice(0, 30),
    );
  }
  assert.deepEqual(await query(datastore, `SELECT RAW -${listOf(list)}[2]`), [-2]);
});

test('of very many comparisons those with the same path become a list, and each list uses its own index', async () => {
  const terms = numbers(1500).map((n) => `${n % 2 === 0 ? 'a' : 'b'} = ${n}`);
  const condition = [...terms, 'c = 1'].join(' OR ');
  const or = parseExpression(condition);
  assert.ok(or.kind === 'logical');
  assert.deepEqual(
    or.operands.map(({ kind }) => kind),
    ['membership', 'membership', 'comparison'],
  );
  const datastore = new MemoryDatastore();
  const keyspace = datastore.add('t');
  for (const n of [4, 5, 6]) datastore.put(keyspace, `k${n}`, { a: n, b: n });
  for (const name of ['a', 'b', 'c']) await query(datastore, `CREATE INDEX i${name} ON t(${name})`);
  const text = `SELECT RAW META().id FROM t WHERE ${condition}`;
  const { explain } = prepareStatement(text, { datastore, sequentialScans: true });
  assert.match(JSON.stringify(explain), /UnionScan.*"index":"ia".*"index":"ib".*"index":"ic"/);
  assert.deepEqual((await query(datastore, text)).toSorted(), ['k4', 'k5', 'k6']);
});

test('a long list implies the condition of a partial index if each of its values does', async () => {
  const datastore = new MemoryDatastore();
  datastore.add('t');
  await query(datastore, 'CREATE INDEX ipart ON t(p) WHERE p > 0 AND p <= 2000');
  const usesIndex = (list: readonly unknown[]) => {
    const text = `SELECT b FROM t WHERE p IN ${JSON.stringify(list)}`;
    return JSON.stringify(prepareStatement(text, { datastore, sequentialScans: true }).explain).includes(
      'ipart',
    );
  };
  const list = numbers(foldedFrom).map((n) => n + 1);
  assert.ok(usesIndex([...list, 2000, null]), 'nothing is equal to NULL');
  assert.ok(!usesIndex([...list, 0]));
  assert.ok(!usesIndex([...list, 2001]));
  assert.ok(!usesIndex([...list, 'a']));
});

test('a partial index for a long list is used for each value in the list', async () => {
  const datastore = new MemoryDatastore();
  datastore.add('t');
  const list = numbers(foldedFrom + 100);
  await query(datastore, `CREATE INDEX ipart ON t(p) WHERE p IN ${JSON.stringify(list)}`);
  const usesIndex = (condition: string) => {
    const text = `SELECT b FROM t WHERE p ${condition}`;
    return JSON.stringify(prepareStatement(text, { datastore, sequentialScans: true }).explain).includes(
      'ipart',
    );
  };
  for (const within of [
    '= 5',
    'IN [5, 7]',
    `IN ${JSON.stringify(list)}`,
    `IN ${JSON.stringify(list.slice(50))}`,
  ])
    assert.ok(usesIndex(within), within.slice(0, 20));
  for (const outside of ['= 5.5', '> 5', 'IN [5, -1]', `IN ${JSON.stringify([...list, -1])}`])
    assert.ok(!usesIndex(outside), outside.slice(0, 20));
});
