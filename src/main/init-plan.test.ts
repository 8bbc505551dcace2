import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readInitFile } from './init-file.ts';
import { parseBucketOption, planOf } from './init-plan.ts';

const fileWith = (text: string): string => {
  const path = join(mkdtempSync(join(tmpdir(), 'divan-init-')), 'init.json');
  writeFileSync(path, text);
  return path;
};

test('a bucket of an option has its defaults', () => {
  const { name, type, ramQuotaMB, replicaNumber } = parseBucketOption('travel');
  assert.deepEqual(
    { name, type, ramQuotaMB, replicaNumber },
    { name: 'travel', type: 'couchbase', ramQuotaMB: 100, replicaNumber: 0 },
  );
  assert.equal(parseBucketOption('a:ephemeral:256').ramQuotaMB, 256);
});

test('the refusal of a bucket of an option names the wrong part', () => {
  assert.throws(() => parseBucketOption('a:disk'), /"disk" in "a:disk" is not a bucket type/);
  assert.throws(() => parseBucketOption('a:ephemeral:x'), /"x" .* is not a number of megabytes/);
  assert.throws(() => parseBucketOption(':ephemeral'), /NAME\[:TYPE\[:QUOTAMB\]\]/);
});

test('an error names the path of a wrong value in an init file', () => {
  assert.throws(() => readInitFile('/nowhere/init.json'), /cannot read \/nowhere\/init.json/);
  assert.throws(() => readInitFile(fileWith('{')), /is not JSON/);
  assert.throws(
    () => readInitFile(fileWith('{"buckets":[{"name":"a","ramQuotaMB":"x"}]}')),
    /buckets\.0\.ramQuotaMB/,
  );
  assert.throws(() => readInitFile(fileWith('{"bucket":[]}')), /bucket/);
  assert.throws(
    () =>
      readInitFile(
        fileWith('{"buckets":[{"name":"a","documents":[{"key":"k","value":1,"expiry":4294967296}]}]}'),
      ),
    /buckets\.0\.documents\.0\.expiry/,
  );
});

test('numbers of documents have the digits of the init file', () => {
  const value = '{"id":12345678901234567890,"price":1.10,"far":[1e400]}';
  const { buckets } = readInitFile(
    fileWith(`{"buckets":[{"name":"a"},{"name":"b","documents":[{"key":"k","value":${value}}]}]}`),
  );
  assert.equal(JSON.stringify(buckets[1]?.documents[0]?.value), value);
});

test('the init plan merges the buckets of options and of the file, and refuses a bucket that is given twice, naming both places', () => {
  const file = readInitFile(fileWith('{"buckets":[{"name":"b"}],"users":[{"name":"u","password":"p"}]}'));
  assert.deepEqual(
    planOf([parseBucketOption('a')], file).buckets.map(({ name }) => name),
    ['a', 'b'],
  );
  assert.throws(
    () => planOf([parseBucketOption('B')], file, 'init.json'),
    /^UsageError: bucket "b" is in both --bucket and init\.json$/,
  );
  assert.throws(
    () => planOf([parseBucketOption('a'), parseBucketOption('A')], null),
    /^UsageError: --bucket: "A" is given twice$/,
  );
  const twice = readInitFile(fileWith('{"buckets":[{"name":"b"},{"name":"B"}]}'));
  assert.throws(() => planOf([], twice, 'init.json'), /init\.json: buckets\.1\.name: "B" is listed twice/);
});
