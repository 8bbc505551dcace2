import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { certificateProblem, keyProblem, readCertificates, readKey } from './certificate-text.ts';

const fixture = new URL('../../../test/fixtures/issued-certificates.json', import.meta.url);
const { certificate: chain, key } = JSON.parse(readFileSync(fixture, 'utf8')).node;
const end = '-----END CERTIFICATE-----\n';
const certificate = chain.slice(0, chain.indexOf(end) + end.length);

const countOf = (text: string) => {
  const read = readCertificates(text);
  return 'value' in read ? read.value.length : read.problem;
};

test('finds blocks anywhere in the text', () => {
  assert.equal(countOf(`before\n${certificate}between\n${certificate}after`), 2);
});

test('skips blocks without an end, and refuses a text without any whole block', () => {
  assert.equal(countOf(`-----BEGIN X509 CRL-----\n${certificate}`), 1);
  assert.ok('value' in readKey(`${key}-----BEGIN PRIVATE KEY-----\n`, null));
  assert.equal(countOf(`-----BEGIN CERTIFICATE-----\n`), certificateProblem.malformed);
});

test('refuses a block that contains another begin line as malformed', () => {
  assert.deepEqual(readKey(`-----BEGIN PRIVATE KEY-----\n${key}`, null), { problem: keyProblem.malformed });
});

test('refuses texts of very many begin or end lines in less than two seconds of CPU time', () => {
  const beginnings = '-----BEGIN CERTIFICATE-----\n'.repeat(37_000);
  const others = Array.from({ length: 10_000 }, (_, at) => `-----BEGIN A${at}-----\n`).join('');
  const before = process.cpuUsage();
  const ends = '-----END CERTIFICATE-----\n'.repeat(37_000);
  const wrongOrder = `${ends}-----BEGIN CERTIFICATE-----\n`;
  for (const text of [beginnings, others, ends, wrongOrder])
    assert.deepEqual(readCertificates(text), { problem: certificateProblem.malformed });
  const { user, system } = process.cpuUsage(before);
  assert.ok((user + system) / 1_000 < 2_000, `${(user + system) / 1_000} ms`);
});
