import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CompactionRule, decideCompaction } from './compaction-decision.ts';

const mib = 1024 * 1024;
const noon = { hour: 12, minute: 0 };
const rule = (changes: Partial<CompactionRule> = {}): CompactionRule => ({
  percentage: 30,
  sizeBytes: null,
  period: null,
  ...changes,
});
const files = (freeMb: number, fileMb = 1000) => ({
  dataBytes: (fileMb - freeMb) * mib,
  freeBytes: freeMb * mib,
});
const night = { fromHour: 22, fromMinute: 30, toHour: 6, toMinute: 0, abortOutside: true };

test('a bucket is due at the percentage, rounded, or at the size', () => {
  assert.equal(decideCompaction(rule(), files(290), noon), 'wait');
  assert.equal(decideCompaction(rule(), files(295), noon), 'compact');
  assert.equal(decideCompaction(rule({ sizeBytes: 200 * mib }), files(200), noon), 'compact');
  assert.equal(decideCompaction(rule({ sizeBytes: 200 * mib }), files(199), noon), 'wait');
});

test('unset thresholds are never reached, and small files are not compacted', () => {
  assert.equal(decideCompaction(rule({ percentage: null }), files(990), noon), 'wait');
  assert.equal(decideCompaction(rule({ percentage: 2 }), files(3, 3.9), noon), 'wait');
  assert.equal(decideCompaction(rule({ percentage: 2 }), files(3, 4), noon), 'compact');
});

test('auto-compaction starts nothing outside the period, and cancels a running compaction if configured', () => {
  const at = (hour: number, minute: number, changes: object = {}) =>
    decideCompaction(rule({ period: { ...night, ...changes } }), files(900), { hour, minute });
  assert.deepEqual(
    [at(22, 29), at(22, 30), at(0, 0), at(5, 59), at(6, 0)],
    ['stop', 'compact', 'compact', 'compact', 'stop'],
  );
  assert.equal(at(12, 0, { abortOutside: false }), 'wait');
  const day = { fromHour: 9, fromMinute: 0, toHour: 17, toMinute: 0 };
  assert.deepEqual([at(8, 59, day), at(9, 0, day), at(17, 0, day)], ['stop', 'compact', 'stop']);
  const always = { fromHour: 5, fromMinute: 0, toHour: 5, toMinute: 0 };
  assert.deepEqual([at(4, 59, always), at(5, 0, always)], ['compact', 'compact']);
});
