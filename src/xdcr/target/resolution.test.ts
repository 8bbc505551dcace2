import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Datatype } from '#wire/status.ts';
import type { OutgoingVersion } from './outgoing.ts';
import { type Meta, wins } from './resolution.ts';

const stored: Meta = { isDeletion: false, flags: 5, expiry: 5, rev: 5, casHi: 5, casLo: 5, hasXattrs: false };

const outgoing = (more: Partial<OutgoingVersion>): OutgoingVersion =>
  ({
    kind: 'mutation',
    datatype: 0,
    flags: 5,
    expiry: 5,
    rev: 5,
    casHi: 5,
    casLo: 5,
    ...more,
  }) as OutgoingVersion;

test('revision and CAS are compared in the order of the conflict resolution of the bucket, then the other metadata', () => {
  for (const [more, bySeqno, byTime] of [
    [{}, false, false],
    [{ rev: 6, casHi: 4 }, true, false],
    [{ rev: 4, casHi: 6 }, false, true],
    [{ casLo: 6 }, true, true],
    [{ casLo: 4 }, false, false],
    [{ rev: 6 }, true, true],
    [{ expiry: 6, flags: 4 }, true, true],
    [{ expiry: 4, flags: 6 }, false, false],
    [{ flags: 6 }, true, true],
    [{ datatype: Datatype.xattr }, true, true],
    [{ kind: 'deletion', expiry: 6, flags: 6 }, false, false],
    [{ kind: 'deletion', rev: 6 }, true, true],
  ] as const) {
    const found = [wins(outgoing(more), stored, 'seqno'), wins(outgoing(more), stored, 'lww')];
    assert.deepEqual(found, [bySeqno, byTime], JSON.stringify(more));
  }
});

test('a version with extended attributes wins only against one without', () => {
  assert.equal(wins(outgoing({ datatype: Datatype.xattr }), { ...stored, hasXattrs: true }, 'seqno'), false);
});
