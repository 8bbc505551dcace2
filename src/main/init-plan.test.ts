import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readInitFile } from './init-file.ts';
import { parseBucketFlag, planOf } from './init-plan.ts';

const fileWith = (text: string): string => {
  const path = join(mkdtempSync(join(tmpdir(), 'divan-init-')), 'init.json');
  writeFileSync(path, text);
  return path;
};

test('reads a bucket flag with its defaults', () => {
  const { name, type, ramQuotaMB, replicaNumber } = parseBucketFlag('travel');
  assert.deepEqual(
    { name, type, ramQuotaMB, replicaNumber },
    { name: 'travel', type: 'couchbase', ramQuotaMB: 100, replicaNumber: 0 },
  );
  assert.equal(parseBucketFlag('a:ephemeral:256').ramQuotaMB, 256);
});

test('refuses a bucket flag and names its wrong part', () => {
  assert.throws(() => parseBucketFlag('a:disk'), /"disk" in "a:disk" is not a bucket type/);
  assert.throws(() => parseBucketFlag('a:ephemeral:x'), /"x" .* is not a number of megabytes/);
  assert.throws(() => parseBucketFlag(':ephemeral'), /NAME\[:TYPE\[:QUOTAMB\]\]/);
});

test('names the path of a wrong value in an init file', () => {
  assert.throws(() => readInitFile('/nowhere/init.json'), /cannot read \/nowhere\/init.json/);
  assert.throws(() => readInitFile(fileWith('{')), /is not JSON/);
  assert.throws(
    () => readInitFile(fileWith('{"buckets":[{"name":"a","ramQuotaMB":"x"}]}')),
    /buckets\.0\.ramQuotaMB/,
  );
  assert.throws(() => readInitFile(fileWith('{"bucket":[]}')), /bucket/);
});

test('merges flags and file, and refuses a bucket that is given twice, naming both places', () => {
  const file = readInitFile(fileWith('{"buckets":[{"name":"b"}],"users":[{"name":"u","password":"p"}]}'));
  assert.deepEqual(
    planOf([parseBucketFlag('a')], file).buckets.map(({ name }) => name),
    ['a', 'b'],
  );
  assert.throws(
    () => planOf([parseBucketFlag('B')], file, 'init.json'),
    /^UsageError: bucket "b" is in both --bucket and init\.json$/,
  );
  assert.throws(
    () => planOf([parseBucketFlag('a'), parseBucketFlag('A')], null),
    /^UsageError: --bucket: "A" is given twice$/,
  );
  const twice = readInitFile(fileWith('{"buckets":[{"name":"b"},{"name":"B"}]}'));
  assert.throws(() => planOf([], twice, 'init.json'), /init\.json: buckets\.1\.name: "B" is listed twice/);
});
