import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationMs } from './duration.ts';

test('durations in Go notation are parsed', () => {
  for (const [text, ms] of [
    ['1h0m0s', 3_600_000],
    ['90m', 5_400_000],
    ['1.5h', 5_400_000],
    ['2s500ms', 2_500],
    ['0s', 0],
    ['1.0006s', 1_001],
    ['0.1h0.7m', 402_000],
  ] as const) {
    assert.equal(durationMs(text), ms, text);
  }
});

test('texts of another form, negative durations and numbers of more than nine digits are refused', () => {
  for (const text of ['', '1', 'h', '-1h', '1 h', '1h ', '1d', '1e3s', '1h,5m', '9999999999h']) {
    assert.equal(durationMs(text), null, text);
  }
});
