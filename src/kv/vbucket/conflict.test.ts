import assert from 'node:assert/strict';
import { test } from 'node:test';
import { incomingWins, type Version } from './conflict.ts';

const version = (rev: number, cas: number, overrides: Partial<Version> = {}): Version => ({
  rev,
  casHi: 7,
  casLo: cas,
  expiry: 0,
  flags: 0,
  hasXattrs: false,
  ...overrides,
});
/** The incoming version, the stored one, and whether the incoming one wins by revisions, by time, each also as a deletion. */
const cases: [string, Version, Version, [boolean, boolean, boolean, boolean]][] = [
  ['more revisions, earlier', version(2, 1), version(1, 2), [true, false, true, false]],
  ['fewer revisions, later', version(1, 2), version(2, 1), [false, true, false, true]],
  ['a higher upper word of the CAS', version(1, 1, { casHi: 8 }), version(1, 9), [true, true, true, true]],
  ['a later expiry', version(1, 1, { expiry: 2 }), version(1, 1, { expiry: 1 }), [true, true, false, false]],
  [
    'an earlier expiry',
    version(1, 1, { flags: 9 }),
    version(1, 1, { expiry: 1 }),
    [false, false, false, false],
  ],
  ['larger flags', version(1, 1, { flags: 2 }), version(1, 1, { flags: 1 }), [true, true, false, false]],
  ['the same version', version(1, 1), version(1, 1), [false, false, false, false]],
  ['new attributes alone', version(1, 1, { hasXattrs: true }), version(1, 1), [true, true, true, true]],
  [
    'attributes on both',
    version(1, 1, { hasXattrs: true }),
    version(1, 1, { hasXattrs: true }),
    [false, false, false, false],
  ],
];

for (const [title, incoming, stored, wins] of cases) {
  test(`an incoming version wins or loses as published: ${title}`, () => {
    const found = [false, true].flatMap((isDeletion) => [
      incomingWins('seqno', isDeletion, incoming, stored),
      incomingWins('lww', isDeletion, incoming, stored),
    ]);
    assert.deepEqual(found, wins);
  });
}
