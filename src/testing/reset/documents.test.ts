import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idOf, renewedExpiry, restoringWrites, type Version } from './documents.ts';

const version = (key: string, expiry = 0): Version => ({
  collection: '_default._default',
  key,
  vb: 1,
  isDeleted: false,
  hasXattrs: false,
  isJson: true,
  flags: 0,
  expiry,
  casHi: 0,
  casLo: 1,
  rev: 1,
  value: Buffer.from('1'),
});

test('a document with an expiry is always written again: it may have expired without a change', () => {
  const versions = [version('brief', 5_000), version('lasting')];
  const captured = new Map(versions.map((document) => [idOf(document), document]));
  const { set, remove } = restoringWrites(captured, new Map(), () => false);
  assert.deepEqual([set.map(({ key }) => key), remove], [['brief'], []]);
});

test('an expiry is renewed with the time that it had left at the capture; one of more than thirty days stays', () => {
  const month = 30 * 24 * 3600;
  assert.equal(renewedExpiry(version('a', 1_060), 1_000_000, 5_000_000), 5_060);
  assert.equal(renewedExpiry(version('a', 1_001 + month), 1_000_000, 5_000_000), 1_001 + month);
  assert.equal(renewedExpiry(version('a'), 1_000_000, 5_000_000), 0);
});
