import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSignature, signatureOf, timestampProblem } from './signature.ts';

const secret = 'f4c1b2a3e5d60718293a4b5c6d7e8f90';
const now = 1_700_000_000_000;

// printf 'GET\n/v2/clouds?page=1\n1700000000' | openssl dgst -sha256 -hmac "$secret" -binary | base64
const vectors: [method: string, target: string, timestamp: string, signature: string][] = [
  ['GET', '/v2/clouds?page=1', '1700000000', 'Li7ykHAG/4gXzJTUb4xIcFXpDEBZM6t2LhLFWDAINbI='],
  ['POST', '/v3/clusters', '1700000000123', 'D9xgPgkts+YUmpCB0tNMrgqfMWtu2tczwvZVX+wa9YI='],
  [
    'DELETE',
    'http://localhost:8080/v2/projects/0d3f1f0e-6c6b-4d8e-9a42-6f1d1a4f0a11',
    '1700000000',
    '/W4Hiylh0Tx1uGA1RJbF1MzleiG7h9PCdTH8V34VZrQ=',
  ],
];

test('signatures are those that openssl computes', () => {
  for (const [method, target, timestamp, signature] of vectors) {
    assert.equal(signatureOf(secret, method, target, timestamp), signature);
  }
});

test('the check accepts a signature over the path, or over the whole URL of this host', () => {
  const method = 'GET';
  const timestamp = '1700000000';
  const signed = { method, target: '/v2/clouds', host: 'localhost:8080', timestamp };
  for (const target of [
    '/v2/clouds',
    'http://localhost:8080/v2/clouds',
    'https://localhost:8080/v2/clouds',
  ]) {
    assert.equal(isSignature(signatureOf(secret, method, target, timestamp), secret, signed), true, target);
  }
});

test('the check refuses a signature for another path, query, method, time, host or key', () => {
  const signed = { method: 'GET', target: '/v2/clouds?page=1', host: 'here', timestamp: '1700000000' };
  const others = [
    signatureOf(secret, 'GET', '/v2/clouds', '1700000000'),
    signatureOf(secret, 'GET', '/v2/clouds?page=2', '1700000000'),
    signatureOf(secret, 'POST', '/v2/clouds?page=1', '1700000000'),
    signatureOf(secret, 'GET', '/v2/clouds?page=1', '1700000001'),
    signatureOf(secret, 'GET', 'http://there/v2/clouds?page=1', '1700000000'),
    signatureOf('another', 'GET', '/v2/clouds?page=1', '1700000000'),
    '',
    'x',
  ];
  for (const other of others) assert.equal(isSignature(other, secret, signed), false, other);
});

test('the check accepts times in seconds and milliseconds, up to five minutes early or late', () => {
  assert.equal(timestampProblem('1700000000', now), null);
  assert.equal(timestampProblem('1700000000000', now), null);
  assert.equal(timestampProblem('1700000300', now), null);
  assert.equal(timestampProblem('1699999700000', now), null);
  assert.match(timestampProblem('1700000301', now) ?? '', /by 301 s/);
  assert.match(timestampProblem('1699999699', now) ?? '', /by 301 s/);
  assert.match(timestampProblem('soon', now) ?? '', /must be Unix time/);
  assert.match(timestampProblem(undefined, now) ?? '', /needs the header/);
});
