// Which statements the audit log records, for which users, and with which details.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aQueryService, originOf } from '../../../test/support/query-service.ts';
import { answerAdmin } from '../admin/admin.ts';

test('an audited statement has its number, user, text and figures, and no values of parameters', async () => {
  const { answerOf, auditing } = aQueryService();
  await answerOf({ statement: 'ROWS 1' });
  assert.deepEqual(auditing.statements, [], 'auditing is off');
  auditing.settings = { disabled: [], disabledUsers: [] };
  await answerOf({ statement: 'ROWS 2', $secret: 'pl4nted', args: ['pl4nted'], client_context_id: 'mine' });
  const [statement] = auditing.statements;
  assert.ok(statement);
  const { id, user, from, details } = statement;
  assert.deepEqual([id, user, from], [28672, { name: 'admin', domain: 'admin' }, '127.0.0.1:1']);
  const { statement: text, isAdHoc, userAgent, node, status, clientContextId } = details;
  assert.deepEqual(
    [text, isAdHoc, userAgent, node, status, clientContextId],
    ['ROWS 2', true, 'test', 'n:8091', 'success', 'mine'],
  );
  assert.deepEqual([(details['metrics'] as Record<string, unknown>)['resultCount']], [2]);
  assert.doesNotMatch(JSON.stringify(auditing.statements), /pl4nted/);
});

test('failed statements are audited with their errors, unparsable ones as unrecognized', async () => {
  const { answerOf, auditing } = aQueryService();
  auditing.settings = { disabled: [], disabledUsers: [] };
  await answerOf({ statement: 'SYNTAX' });
  const [first] = auditing.statements;
  assert.equal(first?.id, 28687);
  assert.notEqual(first?.details['status'], 'success');
  assert.ok(Array.isArray(first?.details['errors']));
  await answerOf({ statement: 'SYNTAX {"user": "a:pl4nted"} CURL' });
  assert.deepEqual(auditing.statements[1]?.details['errors'], [
    { code: 3000, msg: 'syntax error - line 1, column 8' },
  ]);
});

test('disabled events and users are not recorded; a request of several users is recorded for each', async () => {
  const { answerOf, auditing } = aQueryService();
  const creds = [{ user: 'nobody', pass: 'password' }];
  auditing.settings = { disabled: [], disabledUsers: [] };
  await answerOf({ statement: 'ROWS 1', creds });
  assert.deepEqual(
    auditing.statements.map(({ user }) => user.name),
    ['admin', 'nobody'],
  );
  auditing.statements.length = 0;
  auditing.settings = { disabled: [], disabledUsers: [{ name: 'admin', domain: 'admin' }] };
  await answerOf({ statement: 'ROWS 1', creds });
  assert.deepEqual(
    auditing.statements.map(({ user }) => user.name),
    ['nobody'],
  );
  auditing.statements.length = 0;
  auditing.settings = { disabled: [28672], disabledUsers: [] };
  await answerOf({ statement: 'ROWS 1' });
  assert.deepEqual(auditing.statements, []);
});

test('wrong credentials audit no statement', async () => {
  const { answerOf, auditing } = aQueryService();
  auditing.settings = { disabled: [], disabledUsers: [] };
  await answerOf({ statement: 'ROWS 1' }, { password: 'wrong' });
  assert.deepEqual(auditing.statements, []);
});

test('the text of a very long statement is truncated', async () => {
  const { answerOf, auditing } = aQueryService();
  auditing.settings = { disabled: [], disabledUsers: [] };
  await answerOf({ statement: `ROWS 1 ${' '.repeat(70_000)}` });
  const [statement] = auditing.statements;
  assert.equal(String(statement?.details['statement']).length, 65_536);
  assert.equal(statement?.details['isStatementCut'], true);
  await answerOf({ statement: `SYNTAX {"user": "${'pl4nted'.repeat(10_000)}"} not looked at` });
  assert.equal(auditing.statements[1]?.details['statement'], 'SYNTAX {"user": "*****"');
});

test('a request that is refused for a missing permission is reported for its users, without the port of the client', async () => {
  const { service, answerOf, auditing } = aQueryService();
  const user = { name: 'nobody', domain: 'local' };
  await answerOf({ statement: 'CLOSED' });
  await answerOf({ statement: 'FAIL 5000' }, { user: 'nobody' });
  assert.deepEqual(auditing.refusals, []);
  const { errors } = await answerOf({ statement: 'CLOSED' }, { user: 'nobody' });
  assert.equal(errors?.[0]?.code, 13014);
  const from = '127.0.0.1';
  assert.deepEqual(auditing.refusals, [{ user, from, operation: 'SELECT' }]);
  for (const path of ['/admin/prepareds/p', '/evaluator/v1/libraries/l']) {
    const request = { method: 'DELETE', path, body: '' };
    auditing.refusals.length = 0;
    assert.equal((await answerAdmin(service, request, originOf('nobody', 'password'))).status, 401);
    assert.deepEqual(auditing.refusals, [{ user, from, operation: `DELETE ${path}` }]);
  }
  await answerAdmin(
    service,
    { method: 'GET', path: '/admin/vitals', body: '' },
    originOf('admin', 'password'),
  );
  assert.equal(auditing.refusals.length, 1);
});
