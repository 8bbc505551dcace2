import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionProblem } from './connection-problem.ts';

test('the problem says what to do where a port demands a client certificate', () => {
  const code = 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED';
  const error = Object.assign(new Error('402D:error:0A00045C:SSL routines'), { code });
  assert.match(connectionProblem(error), /^that port demands a client certificate.*without TLS/);
  assert.match(connectionProblem(new AggregateError([error])), /^that port demands/);
});
