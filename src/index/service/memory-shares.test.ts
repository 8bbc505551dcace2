import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryShares } from './memory-shares.ts';

const mib = 1024 * 1024;

test('the quota is divided between files and builds', () => {
  assert.deepEqual(memoryShares(512 * mib, { files: 1, builds: 0 }), {
    cacheBytes: 8 * mib,
    stageBytes: 16 * mib,
  });
  const { cacheBytes, stageBytes } = memoryShares(512 * mib, { files: 100, builds: 50 });
  assert.ok(100 * cacheBytes + 50 * stageBytes <= 512 * mib);
});

test('two thousand files, half of which are being built, stay within the least quota', () => {
  const { cacheBytes, stageBytes } = memoryShares(256 * mib, { files: 2_000, builds: 1_000 });
  assert.ok(2_000 * cacheBytes <= 128 * mib);
  assert.ok(1_000 * stageBytes <= 64 * mib);
});

test('a file and a build get their minimum under any quota', () => {
  assert.deepEqual(memoryShares(0, { files: 1_000, builds: 10 }), {
    cacheBytes: mib / 16,
    stageBytes: mib / 16,
  });
});
