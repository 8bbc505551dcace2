import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertGrowth } from '../../../test/support/growth.ts';
import { shownMessage, shownStatement, withoutPasswords } from './without-passwords.ts';

test('statements are shown without passwords of options, headers and addresses', () => {
  for (const [statement, shown] of [
    ['CURL($1, {"user": "ann:se\\"cret", "get": true})', 'CURL($1, {"user": "*****", "get": true})'],
    ["CURL($1, {'--user': 'ann:secret'})", `CURL($1, {'--user': "*****"})`],
    ['{user:"ann:secret"', '{user:"*****"'],
    ['{"password": "secre', '{"password": "*****"'],
    ['{"header": ["Authorization: Bearer secret", "A: b"]}', '{"header": ["Authorization: *****", "A: b"]}'],
    ["{'H': 'X-Api-Key:secret'}", "{'H': 'X-Api-Key:*****'}"],
    ['CURL("https://ann:secret@h/a")', 'CURL("https://*****@h/a")'],
    ["{'user': 'ann:it''s secret', 'a': 1}", `{'user': "*****", 'a': 1}`],
    ['{"pass": "it""s secret", "a": 1}', '{"pass": "*****", "a": 1}'],
    ['{"user": "ann:\\\nsecret"}', '{"user": "*****"}'],
    ['["Authorization: Digest a=\\"ann\\", b=\\"secret\\"", "A: b"]', '["Authorization: *****", "A: b"]'],
    [`['Cookie: it''s "secret"', 'A: b']`, `['Cookie: *****', 'A: b']`],
    ['["Cookie: it\'s \\\nsecret"]', '["Cookie: *****"]'],
    ['CURL("https://ann:se@cret@h/a")', 'CURL("https://*****@h/a")'],
    ['CURL("https://ann:secr', 'CURL("https://*****@'],
    ['CURL("https://h/a@b")', 'CURL("https://h/a@b")'],
    ['SELECT users, key FROM b WHERE k = "Cookies: 3"', 'SELECT users, key FROM b WHERE k = "Cookies: 3"'],
  ] as const)
    assert.equal(withoutPasswords(statement), shown);
});

test('messages are shown without the words of a statement that may call CURL()', () => {
  const statement = 'SELECT CURL("u", {"user": "a:pl4nted';
  for (const [message, shown] of [
    [`syntax error - line 1, column 30, near '"user":', at: "a:pl4nted`, 'syntax error - line 1, column 30'],
    ['syntax error - line 2, column 1, at: "a:pl4nted"', 'syntax error - line 2, column 1'],
    ['Invalid arguments of CURL("https://a:pl4nted@h")', 'Invalid arguments of CURL("https://*****@h")'],
    ['Ambiguous name (near line 1, column 8)', 'Ambiguous name (near line 1, column 8)'],
  ] as const) {
    assert.equal(shownMessage(message, statement), shown);
    assert.equal(shownMessage(message, 'SELECT 1'), message);
  }
});

test('a long statement takes linear time', async () => {
  for (const part of ['"user":"', '://', '"a-', "'--", "'a:''", '"cookie:""', 'http:/'])
    await assertGrowth(1, 2_000, (parts) => withoutPasswords(part.repeat(parts)));
});

test('a statement is shown unchanged only if it cannot call CURL()', () => {
  const options = '{"user": "a:pl4nted"}';
  for (const shown of [
    `SELECT ABS(1), (SELECT 1), COUNT(*) FROM t WHERE x IN (1) AND t.o = ${options}`,
    `UPDATE t SET o = ${options} WHERE (a = 1) RETURNING META().id`,
  ])
    assert.equal(shownStatement(shown), shown);
  for (const masked of [
    `SELECT CURL("https://x", ${options})`,
    `SELECT fetchit("https://x", ${options})`,
    `SELECT default:b.s.fetchit ("https://x", ${options})`,
    `SELECT \`fetch it\`("https://x", ${options})`,
    `EXECUTE p USING ["https://x", ${options}]`,
    `EXECUTE FUNCTION f(${options})`,
  ])
    assert.doesNotMatch(shownStatement(masked), /pl4nted/, masked);
});

test('a long word in a statement takes linear time', async () => {
  await assertGrowth(1, 1_000, (characters) => {
    const statement = `SELECT RAW LENGTH("${'x'.repeat(characters)}")`;
    assert.equal(shownStatement(statement), statement);
  });
});
