import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { SqlError } from '../errors/sql-error.ts';
import { formatExpression } from '../text/format.ts';
import { parseExpression } from '../text/parser.ts';
import type { Expression, Field, Identifier } from '../tree/expression.ts';
import { parseJsonText, resolveDeep } from '../values/json-parse.ts';
import { jsonText } from '../values/json-text.ts';
import { RawJson, type Value } from '../values/value.ts';
import { compile } from './compile.ts';
import { evaluationContext } from './evaluation-context.fixture.ts';

/** Replaces names other than variables by fields of the document in slot 0. */
function inDocument(node: Expression, variables: readonly string[] = []): Expression {
  const inner = (child: Expression): Expression => inDocument(child, variables);
  switch (node.kind) {
    case 'identifier':
      return variables.includes(node.name) ? node : fieldOf(node);
    case 'field':
      return { ...node, of: inner(node.of), name: inner(node.name) };
    case 'quantified':
    case 'comprehension': {
      const names = node.bindings.flatMap(({ name, position }) => [name, position ?? name]);
      const within = (child: Expression): Expression => inDocument(child, [...variables, ...names]);
      const bindings = node.bindings.map((binding) => ({ ...binding, of: inner(binding.of) }));
      if (node.kind === 'quantified') return { ...node, bindings, satisfies: within(node.satisfies) };
      return {
        ...node,
        bindings,
        value: within(node.value),
        name: node.name && within(node.name),
        when: node.when && within(node.when),
      };
    }
    default:
      return Object.fromEntries(
        Object.entries(node).map(([key, child]) => [key, mapped(child, inner)]),
      ) as unknown as Expression;
  }
}

function mapped(child: unknown, inner: (child: Expression) => Expression): unknown {
  if (Array.isArray(child)) return child.map((item) => mapped(item, inner));
  if (typeof child !== 'object' || child === null || child instanceof RawJson) return child;
  if ('kind' in child) return inner(child as Expression);
  return Object.fromEntries(Object.entries(child).map(([key, value]) => [key, mapped(value, inner)]));
}

function fieldOf({ name, ignoresCase, at }: Identifier): Field {
  const slot: Expression = { kind: 'slot', slot: 0, original: { kind: 'self', at }, at };
  return { kind: 'field', of: slot, name: { kind: 'constant', value: name, at }, ignoresCase, at };
}

const encoder = new TextEncoder();

/** `document`: JSON text. */
function evaluate(text: string, document = '{}', isRaw = true): Value {
  const encoded = encoder.encode(document);
  const row = [isRaw ? new RawJson(encoded, 0, encoded.length) : parseJsonText(document)];
  return resolveDeep(compile(inDocument(parseExpression(text)))(row, evaluationContext()));
}

function valueText(value: Value): string {
  return value === undefined ? 'missing' : jsonText(value);
}

function check(cases: readonly (readonly [text: string, expected: string])[], document = '{}'): void {
  for (const [text, expected] of cases) {
    assert.equal(valueText(evaluate(text, document)), expected, text);
    assert.equal(valueText(evaluate(text, document, false)), expected, `${text} of a parsed document`);
  }
}

test('AND, OR and NOT follow three-valued logic with MISSING', () => {
  const values = ['true', 'false', 'null', 'missing'];
  const and = [
    'true',
    'false',
    'null',
    'missing',
    'false',
    'false',
    'false',
    'false',
    'null',
    'false',
    'null',
    'missing',
    'missing',
    'false',
    'missing',
    'missing',
  ];
  const or = [
    'true',
    'true',
    'true',
    'true',
    'true',
    'false',
    'null',
    'missing',
    'true',
    'null',
    'null',
    'null',
    'true',
    'missing',
    'null',
    'missing',
  ];
  values.forEach((a, row) => {
    values.forEach((b, column) => {
      check([
        [`${a} AND ${b}`, and[row * 4 + column] as string],
        [`${a} OR ${b}`, or[row * 4 + column] as string],
        [`\`and\`(${a}, ${b})`, and[row * 4 + column] as string],
        [`\`or\`(${a}, ${b})`, or[row * 4 + column] as string],
      ]);
    });
  });
  check([
    ['NOT true', 'false'],
    ['NOT null', 'null'],
    ['NOT missing', 'missing'],
    ['NOT 0', 'true'],
    ['NOT "a"', 'false'],
  ]);
});

test('comparisons propagate NULL and MISSING, and order different types by type', () => {
  check([
    ['1 = 1.0', 'true'],
    ['1 != 2', 'true'],
    ['1 = "1"', 'false'],
    ['null = null', 'null'],
    ['missing = null', 'missing'],
    ['1 < missing', 'missing'],
    ['1 < "a"', 'true'],
    ['[1, 2] < [1, 3]', 'true'],
    ['9007199254740993 > 9007199254740992', 'true'],
    ['2 BETWEEN 1 AND 3', 'true'],
    ['2 NOT BETWEEN 1 AND null', 'null'],
    ['null IS NULL', 'true'],
    ['missing IS NULL', 'missing'],
    ['missing IS NOT MISSING', 'false'],
    ['missing IS VALUED', 'false'],
    ['{"a": null} = {"a": null}', 'null'],
    ['[] = []', 'true'],
  ]);
});

test('IN finds equal items, WITHIN also nested ones; if none is equal, a NULL item makes the result NULL', () => {
  check([
    ['1 IN [2, 1]', 'true'],
    ['1 IN [2, null]', 'null'],
    ['null IN [1]', 'null'],
    ['null IN []', 'false'],
    ['1 IN 1', 'null'],
    ['missing IN [1]', 'missing'],
    ['1 NOT IN [2]', 'true'],
    ['1 IN [2, 3, 4, 5, 6, 7, 8, 9, 1]', 'true'],
    ['"1" IN [2, 3, 4, 5, 6, 7, 8, 9, 1]', 'false'],
    ['[1] IN [2, 3, 4, 5, 6, 7, 8, 9, 1]', 'false'],
    ['1 WITHIN {"a": [{"b": 1}]}', 'true'],
    ['2 WITHIN {"a": [{"b": 1}]}', 'false'],
  ]);
});

test('fields, elements and slices of missing parts are MISSING', () => {
  check(
    [
      ['a.b', '1'],
      ['a.c', 'missing'],
      ['x.c', 'missing'],
      ['n.c', 'missing'],
      ['a.["b"]', '1'],
      ['a.[1]', 'null'],
      ['a.`B`i', '1'],
      ['list[0]', '1'],
      ['list[-1]', '{"c":3}'],
      ['list[9]', 'missing'],
      ['list["x"]', 'null'],
      ['list[1:]', '["two",{"c":3}]'],
      ['list[:2]', '[1,"two"]'],
      ['list[-2:-1]', '["two"]'],
      ['list[2:9]', 'missing'],
      ['a[0:1]', 'null'],
      ['list[*].c', '[null,null,3]'],
      ['`__proto__`', 'missing'],
      ['constructor', 'missing'],
    ],
    '{"a": {"b": 1}, "n": null, "list": [1, "two", {"c": 3}]}',
  );
});

test('LIKE matches % with any text, _ with one character, and escaped ones literally', () => {
  check([
    ['"abc" LIKE "a%"', 'true'],
    ['"abc" LIKE "%c"', 'true'],
    ['"abc" LIKE "%b%"', 'true'],
    ['"abc" LIKE "a_c"', 'true'],
    ['"abc" LIKE "_b_"', 'true'],
    ['"abc" LIKE "%a%b%c%"', 'true'],
    ['"abc" LIKE "b%"', 'false'],
    ['"a%c" LIKE "a\\\\%c"', 'true'],
    ['"abc" LIKE "a\\\\%c"', 'false'],
    ['"a_c" LIKE "a!_c" ESCAPE "!"', 'true'],
    ['"a\\nb" LIKE "a%b"', 'true'],
    ['"😀" LIKE "_"', 'true'],
    ['1 LIKE "a"', 'null'],
    ['"abc" NOT LIKE "a%"', 'false'],
    ['"" LIKE "%"', 'true'],
    ['"a" LIKE ""', 'false'],
  ]);
  assert.throws(() => evaluate('"a" LIKE "a\\\\"'), /Trailing escape/);
});

test('LIKE agrees with a plain matcher', () => {
  const matches = (text: string, pattern: string): boolean => {
    if (pattern === '') return text === '';
    const [first, rest] = [pattern[0], pattern.slice(1)];
    if (first === '%') return matches(text, rest) || (text !== '' && matches(text.slice(1), pattern));
    return text !== '' && (first === '_' || first === text[0]) && matches(text.slice(1), rest);
  };
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 });
  const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '%', '_'), maxLength: 6 });
  fc.assert(
    fc.property(letters, patterns, (text, pattern) => {
      assert.equal(evaluate(`"${text}" LIKE "${pattern}"`), matches(text, pattern));
    }),
    { numRuns: 500 },
  );
});

test('ANY, EVERY and comprehensions iterate over arrays, nested values and positions', () => {
  check(
    [
      ['ANY v IN list SATISFIES v > 2 END', 'true'],
      ['ANY v IN [] SATISFIES true END', 'false'],
      ['EVERY v IN [] SATISFIES false END', 'true'],
      ['ANY AND EVERY v IN [] SATISFIES true END', 'false'],
      ['ANY AND EVERY v IN list SATISFIES v > 0 END', 'true'],
      ['EVERY v IN list SATISFIES v > 1 END', 'false'],
      ['ANY v IN missing SATISFIES true END', 'missing'],
      ['ANY v IN 1 SATISFIES true END', 'null'],
      ['ANY v WITHIN deep SATISFIES v = 7 END', 'true'],
      ['ANY k : v IN deep SATISFIES k = "x" AND v = 7 END', 'false'],
      ['ANY k : v WITHIN deep SATISFIES k = "x" AND v = 7 END', 'true'],
      ['ARRAY v * 2 FOR v IN list WHEN v != 2 END', '[2,6]'],
      ['ARRAY [p, v] FOR p : v IN list END', '[[0,1],[1,2],[2,3]]'],
      ['ARRAY a + b FOR a IN list, b IN [10, 20] END', '[11,22]'],
      ['ARRAY (ARRAY v + w FOR w IN list END) FOR v IN [10] END', '[[11,12,13]]'],
      ['FIRST v FOR v IN list WHEN v > 1 END', '2'],
      ['FIRST v FOR v IN list WHEN v > 9 END', 'missing'],
      ['OBJECT "k" || TO_STRING(v) : v FOR v IN list END', '{"k1":1,"k2":2,"k3":3}'],
      ['OBJECT v : v FOR v IN list END', 'null'],
      ['ARRAY v.x FOR v IN [{"x": 1}, {}] END', '[1]'],
    ],
    '{"list": [1, 2, 3], "deep": {"a": {"x": 7}}}',
  );
});

test('CASE, objects, arrays, arithmetic and || handle NULL and MISSING', () => {
  check([
    ['CASE WHEN false THEN 1 WHEN 2 THEN 3 END', '3'],
    ['CASE WHEN null THEN 1 END', 'null'],
    ['CASE 2 WHEN 1 THEN "a" WHEN 2 THEN "b" ELSE "c" END', '"b"'],
    ['CASE null WHEN null THEN 1 ELSE 2 END', '2'],
    ['{"a": 1, "b": missing, "c": null}', '{"a":1,"c":null}'],
    ['{"b": 1, "a": 2}', '{"a":2,"b":1}'],
    ['[1, missing, null]', '[1,null,null]'],
    ['1 + 2 * 3 - 4 / 8', '6.5'],
    ['7 % 4', '3'],
    ['1 / 0', 'null'],
    ['1 + "a"', 'null'],
    ['"a" + missing', 'missing'],
    ['9223372036854775806 + 1', '9223372036854775807'],
    ['"a" || "b" || "c"', '"abc"'],
    ['"a" || 1', 'null'],
    ['"a" || missing', 'missing'],
    ['EXISTS [1]', 'true'],
    ['EXISTS []', 'false'],
    ['EXISTS 1', 'null'],
    ['-(1 + 2)', '-3'],
  ]);
});

test('a parameter is read from the request; the error for a missing one names it', () => {
  const context = evaluationContext({ named: new Map([['n', 5]]), positional: ['x'] });
  assert.equal(compile(parseExpression('$n + 1'))([], context), 6);
  assert.equal(compile(parseExpression('$1 || ?'))([], context), 'xx');
  assert.throws(() => compile(parseExpression('$m'))([], context), /named parameter \$m/);
  assert.throws(() => compile(parseExpression('$2'))([], context), SqlError);
});

test('a recursive function keeps the variables of its caller', () => {
  const expression = compile(parseExpression('ARRAY [v, f(v), v] FOR v IN $1 END'));
  const context = evaluationContext({ positional: [[2, 1]] });
  const result = expression([], {
    ...context,
    userCall: (_, [depth]) =>
      depth === 2 ? expression([], { ...context, userCall: () => null, positional: [[7]] }) : 0,
  });
  assert.equal(valueText(result), '[[2,[[7,null,7]],2],[1,0,1]]');
});

test('canonical text parses to the same tree', () => {
  const names = fc.constantFrom('a', 'b c', 'sel`ect', 'x\\y', 'Ä');
  const withoutOffsets = (node: unknown): unknown =>
    JSON.parse(
      JSON.stringify(node, (key, value) =>
        key === 'at'
          ? undefined
          : typeof value === 'bigint'
            ? `${value}n`
            : value === undefined
              ? '~'
              : value,
      ),
    );
  const at = 0;
  const { expression } = fc.letrec<{ expression: Expression }>((tie) => {
    const inner = tie('expression');
    const logical = (operator: 'and' | 'or') =>
      fc.array(inner, { minLength: 2, maxLength: 3 }).map(
        (operands): Expression => ({
          kind: 'logical',
          operator,
          operands: operands.map((operand) =>
            operand.kind === 'logical' && operand.operator === operator
              ? ({ kind: 'not', of: operand, at } as Expression)
              : operand,
          ),
          at,
        }),
      );
    const bindings = fc.array(
      fc.record({
        name: names,
        position: fc.option(names, { nil: undefined }),
        of: inner,
        isDeep: fc.boolean(),
      }),
      { minLength: 1, maxLength: 2 },
    );
    return {
      expression: fc.oneof(
        { maxDepth: 4 },
        fc
          .oneof(
            fc.string(),
            fc.integer(),
            fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
            fc.constantFrom<Value>(null, true, undefined, 2n ** 62n + 1n),
          )
          .map((value): Expression => ({ kind: 'constant', value: Object.is(value, -0) ? 0 : value, at })),
        names.chain((name) =>
          fc.boolean().map((ignoresCase): Expression => ({ kind: 'identifier', name, ignoresCase, at })),
        ),
        names.map(
          (name): Expression => ({ kind: 'named parameter', name: name.replaceAll(/[^a-z]/g, 'p'), at }),
        ),
        fc.tuple(inner, names, fc.boolean()).map(
          ([of, name, ignoresCase]): Expression => ({
            kind: 'field',
            of,
            name: { kind: 'constant', value: name, at },
            ignoresCase,
            at,
          }),
        ),
        fc.tuple(inner, inner).map(([of, index]): Expression => ({ kind: 'element', of, index, at })),
        fc
          .tuple(inner, fc.option(inner, { nil: undefined }), fc.option(inner, { nil: undefined }))
          .map(([of, start, end]): Expression => ({ kind: 'slice', of, start, end, at })),
        inner.map((of): Expression => ({ kind: 'negation', of, at })),
        inner.map((of): Expression => ({ kind: 'not', of, at })),
        inner.map((of): Expression => ({ kind: 'exists', of, at })),
        logical('and'),
        logical('or'),
        fc
          .tuple(
            inner,
            inner,
            fc.constantFrom('+' as const, '-' as const, '*' as const, '/' as const, '%' as const),
          )
          .map(([left, right, operator]): Expression => ({ kind: 'arithmetic', operator, left, right, at })),
        fc
          .tuple(inner, inner, fc.constantFrom('=' as const, '<' as const, '>=' as const, '!=' as const))
          .map(([left, right, operator]): Expression => ({ kind: 'comparison', operator, left, right, at })),
        fc
          .tuple(inner, inner, inner, fc.boolean())
          .map(
            ([of, low, high, isNegated]): Expression => ({ kind: 'between', of, low, high, isNegated, at }),
          ),
        fc.tuple(inner, inner, fc.option(inner, { nil: undefined }), fc.boolean()).map(
          ([of, pattern, escaping, isNegated]): Expression => ({
            kind: 'like',
            of,
            pattern,
            escape: escaping,
            isNegated,
            at,
          }),
        ),
        fc.tuple(inner, inner, fc.constantFrom('in' as const, 'within' as const), fc.boolean()).map(
          ([of, list, operator, isNegated]): Expression => ({
            kind: 'membership',
            operator,
            of,
            list,
            isNegated,
            at,
          }),
        ),
        fc
          .tuple(inner, fc.constantFrom('null' as const, 'missing' as const, 'valued' as const), fc.boolean())
          .map(([of, test, isNegated]): Expression => ({ kind: 'is', of, test, isNegated, at })),
        fc
          .tuple(fc.option(inner, { nil: undefined }), inner, inner, fc.option(inner, { nil: undefined }))
          .map(
            ([of, when, result, otherwise]): Expression => ({
              kind: 'case',
              of,
              whens: [{ when, result }],
              otherwise,
              at,
            }),
          ),
        fc
          .array(fc.record({ name: inner, value: inner }), { maxLength: 2 })
          .map((members): Expression => ({ kind: 'object', members, at })),
        fc.array(inner, { maxLength: 3 }).map((items): Expression => ({ kind: 'array', items, at })),
        fc
          .tuple(bindings, inner, fc.constantFrom('any' as const, 'every' as const, 'any and every' as const))
          .map(
            ([list, satisfies, quantifier]): Expression => ({
              kind: 'quantified',
              quantifier,
              bindings: list,
              satisfies,
              at,
            }),
          ),
        fc.tuple(bindings, inner, fc.option(inner, { nil: undefined })).map(
          ([list, value, when]): Expression => ({
            kind: 'comprehension',
            result: 'array',
            name: undefined,
            value,
            bindings: list,
            when,
            at,
          }),
        ),
        fc
          .tuple(inner, inner)
          .map((list): Expression => ({ kind: 'call', name: 'nvl', arguments: list, at })),
        fc.tuple(inner, fc.boolean(), fc.option(inner, { nil: undefined })).map(
          ([argument, isDistinct, filter]): Expression => ({
            kind: 'aggregate',
            name: 'sum',
            arguments: [argument],
            isDistinct,
            filter,
            nulls: undefined,
            isFromLast: false,
            over: undefined,
            at,
          }),
        ),
      ),
    };
  });
  fc.assert(
    fc.property(expression, (tree) => {
      const text = formatExpression(tree);
      assert.deepEqual(withoutOffsets(parseExpression(text)), withoutOffsets(tree), text);
    }),
    { numRuns: 500 },
  );
});
