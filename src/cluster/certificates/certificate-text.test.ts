import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { certificateProblem, keyProblem, readCertificates, readKey } from './certificate-text.ts';

const fixture = new URL('../../../test/fixtures/issued-certificates.json', import.meta.url);
const { certificate: chain, key } = JSON.parse(readFileSync(fixture, 'utf8')).node;
const end = '-----END CERTIFICATE-----\n';
const certificate = chain.slice(0, chain.indexOf(end) + end.length);

test('finds blocks anywhere in the text, and ignores blocks without an end', () => {
  const count = (text: string) => {
    const read = readCertificates(text);
    return 'value' in read ? read.value.length : read.problem;
  };
  assert.equal(count(`before\n${certificate}between\n${certificate}after`), 2);
  assert.equal(count(`-----BEGIN CERTIFICATE-----\n`), certificateProblem.malformed);
  // A block without an end is skipped.
  assert.equal(count(`-----BEGIN X509 CRL-----\n${certificate}`), 1);
  assert.ok('value' in readKey(`${key}-----BEGIN PRIVATE KEY-----\n`, null));
  // A block within another is a part of it.
  assert.deepEqual(readKey(`-----BEGIN PRIVATE KEY-----\n${key}`, null), { problem: keyProblem.malformed });
});

test('reads a text of many begin lines in one pass', () => {
  const beginnings = '-----BEGIN CERTIFICATE-----\n'.repeat(37_000);
  const others = Array.from({ length: 10_000 }, (_, at) => `-----BEGIN A${at}-----\n`).join('');
  const before = process.cpuUsage();
  const ends = '-----END CERTIFICATE-----\n'.repeat(37_000);
  for (const text of [beginnings, others, ends])
    assert.deepEqual(readCertificates(text), { problem: certificateProblem.malformed });
  const { user, system } = process.cpuUsage(before);
  assert.ok((user + system) / 1_000 < 2_000, `${(user + system) / 1_000} ms`);
});
