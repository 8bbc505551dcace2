import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultPasswordPolicy, nameProblem, passwordProblem } from './identity-rules.ts';

test('names that are empty, long, reserved or hold unsafe characters are refused', (t) => {
  const unsafe =
    'Username must not contain spaces, control or any of ()<>,;:\\"/[]?={} characters and must be valid utf8';
  const table: [string, string | null][] = [
    ['', 'Username must not be empty'],
    ['x'.repeat(128), null],
    ['x'.repeat(129), 'Username may not exceed 128 characters'],
    ['@x', "Username cannot start with '@'"],
    ['x@y', null],
    ['größe-1_.*%', null],
    ['...', null],
    ...['.', '..'].map((name): [string, string] => [name, 'Username cannot be . or ..']),
    ...['a b', 'a\u0001', 'a(', 'a/b', 'a\\b', 'a"', 'a\uFFFD', 'a{', 'a:b'].map((name): [string, string] => [
      name,
      unsafe,
    ]),
  ];
  t.plan(table.length);
  for (const [name, problem] of table) t.assert.equal(nameProblem(name, 'Username'), problem, name);
});

/** The characters of the specification, and the additional ones of published systems. */
const specials = '@%+\\/\'"!#$^?:,(){}[]~`-_.';

test('a refusal names the first rule of the policy that a password breaks', () => {
  const strict = {
    minLength: 6,
    enforceUppercase: true,
    enforceLowercase: true,
    enforceDigits: true,
    enforceSpecialChars: true,
  };
  assert.equal(passwordProblem('12345', strict), 'The password must be at least 6 characters long.');
  assert.equal(passwordProblem('abcdef\uFFFD', strict), 'The password must be valid utf8');
  assert.equal(passwordProblem('abcdef\n', strict), 'The password must not contain control characters');
  assert.equal(passwordProblem('abcdef', strict), 'The password must contain at least one uppercase letter');
  assert.equal(passwordProblem('ABCDEF', strict), 'The password must contain at least one lowercase letter');
  assert.equal(passwordProblem('ABCDEf', strict), 'The password must contain at least one digit');
  assert.equal(
    passwordProblem('ABCDEf1', strict),
    `The password must contain at least one of the following characters: ${specials}`,
  );
  for (const special of specials) assert.equal(passwordProblem(`ABCDEf1${special}`, strict), null);
  for (const other of ['é', '&', ' ', ';', '=', '*', '|', '<', '>'])
    assert.match(passwordProblem(`ABCDEf1${other}`, strict) ?? '', /following characters/);
  assert.equal(passwordProblem('', { ...defaultPasswordPolicy, minLength: 0 }), null);
  assert.equal(passwordProblem('ééééé', defaultPasswordPolicy)?.includes('at least 6'), true);
});

test('names with invisible characters or mixed scripts are refused', () => {
  const invisible = 'Username must not contain invisible or combining characters';
  const mixed = 'Username must not mix letters of scripts that look alike';
  for (const name of [
    'ad\u200Bmin',
    'admin\u200D',
    '\u202Eadmin',
    'adm\u00ADin',
    'admin\uFE0F',
    'a\u0301',
    'a\u3164',
    '\uE000',
  ])
    assert.equal(nameProblem(name, 'Username'), invisible, JSON.stringify(name));
  for (const name of ['\u0430dmin', 'Administrat\u03BFr', 'j\u0578e'])
    assert.equal(nameProblem(name, 'Username'), mixed, name);
  for (const name of [
    'J\u00FCrgen',
    '\u0418\u0432\u0430\u043D',
    '\u5F20\u4F1F',
    '\u0391\u03BD\u03BD\u03B1',
    'user-1@example.com',
    '\u30E6\u30FC\u30B6\u30FCx',
  ])
    assert.equal(nameProblem(name, 'Username'), null, name);
});
