import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assertGrowth } from '../../../test/support/growth.ts';
import { certificateProblem, keyProblem, readCertificates, readKey } from './certificate-text.ts';

const fixture = new URL('../../../test/fixtures/issued-certificates.json', import.meta.url);
const { certificate: chain, key } = JSON.parse(readFileSync(fixture, 'utf8')).node;
const end = '-----END CERTIFICATE-----\n';
const certificate = chain.slice(0, chain.indexOf(end) + end.length);

const countOf = (text: string) => {
  const read = readCertificates(text);
  return 'value' in read ? read.value.length : read.problem;
};

test('the PEM reader finds blocks anywhere in the text', () => {
  assert.equal(countOf(`before\n${certificate}between\n${certificate}after`), 2);
});

test('the PEM reader skips blocks without an end, and refuses a text without any whole block', () => {
  assert.equal(countOf(`-----BEGIN X509 CRL-----\n${certificate}`), 1);
  assert.ok('value' in readKey(`${key}-----BEGIN PRIVATE KEY-----\n`, null));
  assert.equal(countOf(`-----BEGIN CERTIFICATE-----\n`), certificateProblem.malformed);
});

test('the PEM reader refuses a block that contains another begin line as malformed', () => {
  assert.deepEqual(readKey(`-----BEGIN PRIVATE KEY-----\n${key}`, null), { problem: keyProblem.malformed });
});

test('the PEM reader refuses texts of very many begin or end lines in linear time', async () => {
  const lines: readonly ((count: number) => string)[] = [
    (count) => '-----BEGIN CERTIFICATE-----\n'.repeat(count),
    (count) => Array.from({ length: count }, (_, at) => `-----BEGIN A${at}-----\n`).join(''),
    (count) => '-----END CERTIFICATE-----\n'.repeat(count),
    (count) => `${'-----END CERTIFICATE-----\n'.repeat(count)}-----BEGIN CERTIFICATE-----\n`,
  ];
  for (const text of lines)
    await assertGrowth(1, 500, (count) =>
      assert.deepEqual(readCertificates(text(count)), { problem: certificateProblem.malformed }),
    );
});
