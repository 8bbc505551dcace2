import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MappingMode, type MappingRules, mappingLimits, readRules } from './mapping.contract.ts';
import { mappingProblem, missingSources } from './rules.contract.ts';

const long = 'x'.repeat(mappingLimits.nameBytes);
const tooLong = /^Length is longer than maximum allowed/;

async function check(mode: MappingMode, cases: readonly (readonly [MappingRules, string | RegExp | null])[]) {
  for (const [rules, expected] of cases) {
    const problem = await mappingProblem({ mode, rules });
    const name = JSON.stringify(rules);
    if (expected instanceof RegExp) assert.match(problem ?? 'none', expected, name);
    else assert.equal(problem, expected, name);
  }
}

test('explicit rules are between scopes, between collections, or exclude one of them', async () => {
  await check('explicit', [
    [{}, null],
    [{ s: 't' }, null],
    [{ s: null }, null],
    [{ 's.c': 't.d' }, null],
    [{ 's.c': null }, null],
    [{ '_default._default': 'a.b', _default: 'c' }, null],
    [{ 'a%b-_1.2': 'x.y' }, null],
    [{ [`${long}.${long}`]: `${long}.${long}` }, null],
    [{ '': 't' }, 'Rule must not contain empty string(s):key is empty '],
    [{ s: '' }, 'Rule must not contain empty string(s): value is empty '],
    [{ 's.c': 't' }, 'invalid rule: s.c:t'],
    [{ s: 't.d' }, 'Invalid scope or collection name for one or both of s:t.d'],
    [{ 's.c.d': 't.d' }, 'invalid rule: s.c.d:t.d'],
    [{ 's.': 't' }, 'invalid rule: s.:t'],
    [{ '%s': 't' }, 'Invalid scope or collection name for one or both of %s:t'],
    [{ 's c': null }, 'Invalid scope or collection name for one or both of s c:<nil>'],
    [{ [`${long}x`]: 't' }, tooLong],
    [{ s: `${long}x` }, tooLong],
    [{ [`s.${long}x`]: null }, tooLong],
    [{ 's.c': `t.${long}x` }, tooLong],
  ]);
});

test('explicit rules that contradict or repeat each other are refused', async () => {
  await check('explicit', [
    [{ a: 't', b: 't' }, 't is reused as a target namespace'],
    [{ 'a.c': 't.d', 'b.c': 't.d' }, 't.d is reused as a target namespace'],
    [{ 's.c': null, s: null }, 'The rule s.c:<nil> is redundant'],
    [{ s: 't', 's.c': 't.c' }, 'The rule s.c:t.c is redundant'],
    [{ 's.c': 't.c', s: 't' }, 'The rule s.c:t.c is redundant'],
    // The rule of the collection says something else than that of its scope.
    [{ s: 't', 's.c': 't.d' }, null],
    [{ s: 't', 's.c': 'u.c' }, null],
    [{ s: null, 's.c': 't.c' }, null],
    [{ s: 't', 's.c': null }, null],
    [{ _system: 't' }, 'System scope is mapped'],
    [{ s: '_system' }, 'System scope is mapped'],
    [{ '_system.c': 't.c' }, 'System scope is mapped'],
    [{ 's.c': '_system.c' }, 'System scope is mapped'],
    [{ '_system.c': null }, null],
  ]);
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`s${index}`, null]));
  assert.equal(await mappingProblem({ mode: 'explicit', rules: many }), 'There must be at most 1000 rules');
});

test('rules of a migration are from filter expressions to collections', async () => {
  await check('migration', [
    [{}, null],
    [{ 'EXISTS(a)': 't.c', 'type = "x"': 't.d', 'type = "y"': 't.d' }, null],
    [{ '_default._default': 't.c' }, null],
    [{ '_default._default': '_default._default' }, null],
    [{ '_default._default': null }, 'Deny rules are not allowed for migration mode'],
    [{ 'EXISTS(a)': null }, 'Deny rules are not allowed for migration mode'],
    [
      { '_default._default': 't.c', 'EXISTS(a)': 't.d' },
      'One single rule migrating from default collection to a target collection cannot be accompanied by any other rules',
    ],
    [{ s: 't' }, 's -> t seems like a scope to scope rule, which is not allowed under migration mode'],
    [{ 'a = 1 and b = 2': 't.c' }, /^a = 1 and b = 2 : Filter expression is invalid: at character 7/],
    [{ 'EXISTS(a)': 't' }, 't : Invalid CollectionNamespace format'],
    [{ '_default._default': 't' }, 't : Invalid CollectionNamespace format'],
    [{ 'EXISTS(a)': `t.${long}x` }, /: Length is longer than maximum allowed$/],
    [{ 'EXISTS(a)': '_system.c' }, 'System scope is mapped'],
    [{ '_default._default': '_system.c' }, 'System scope is mapped'],
    [{ '_system.c': 't.c' }, 'System scope is mapped'],
    [{ ' ': 't.c' }, 'Rule must not contain empty string(s):key is empty '],
  ]);
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`a = ${index}`, 't.c']));
  assert.match((await mappingProblem({ mode: 'migration', rules: many })) ?? '', /at most 50 rules/);
});

test('rules are read from a JSON object of texts and nulls, each key once', () => {
  assert.deepEqual(readRules(''), { rules: {} });
  assert.deepEqual(readRules(' {"a" : "b", "c.\\"d": null}'), { rules: { a: 'b', 'c."d': null } });
  assert.deepEqual(readRules('{"a = \\"b:c\\" AND d = \\"e\\"": "t.c"}'), {
    rules: { 'a = "b:c" AND d = "e"': 't.c' },
  });
  for (const [text, expected] of [
    ['{', /must be a JSON object/],
    ['[]', /must be a JSON object/],
    ['"a"', /must be a JSON object/],
    ['null', /must be a JSON object/],
    ['{"a":1}', /^value for key a is the wrong type: number$/],
    ['{"a":["b"]}', /^value for key a is the wrong type: array$/],
    ['{"a":{"b":"c"}}', /^value for key a is the wrong type: object$/],
    ['{"a":"b","a":"c"}', /potentially duplicated keys/],
    ['{"a":"b","\\u0061":"b"}', /potentially duplicated keys/],
    [`{"a":"${'x'.repeat(mappingLimits.textBytes)}"}`, /at most 32768 bytes/],
  ] as const) {
    const read = readRules(text);
    assert.match('problem' in read ? read.problem : 'none', expected, text.slice(0, 40));
  }
});

test('sources of rules that do not exist are named, except those of rules that exclude a collection', () => {
  const scopes = new Map([['s', new Set(['c'])]]);
  const missing = (name: string) => `${name} : the specific source namespace does not exist`;
  assert.equal(missingSources({ s: 't', 's.c': 'u.c', 's.x': null, 'x.y': null }, scopes), null);
  assert.equal(missingSources({ 's.x': 't.c', x: null }, scopes), `${missing('s.x')}\n${missing('x')}`);
});
