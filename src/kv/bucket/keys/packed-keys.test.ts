import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkSteps } from '#base/steps.ts';
import { aSeed, randomBytes } from '../../../../test/support/random.ts';
import { copiedInSteps, ListedKeys, PackedKeys } from './packed-keys.ts';
import { sortedSetInSteps } from './sorted-set.ts';

function resultOf<Result>(steps: WorkSteps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

const hexOf = (keys: Iterable<Buffer>): string[] => Array.from(keys, (key) => key.toString('hex'));

test('random keys of every length are kept, and sorted by their bytes, each once', (t) => {
  const random = aSeed(t);
  // Few different bytes, so that many keys begin with the same ones.
  const keys = Array.from({ length: 20_000 }, () => {
    const shared = Buffer.alloc(random(3) === 0 ? random(250) : 0, 0x61);
    return Buffer.concat([shared, randomBytes(random, random(4))]);
  });
  const packed = new PackedKeys();
  const places = Uint32Array.from(keys, (key) => {
    const source = Buffer.concat([Buffer.from('before'), key, Buffer.from('after')]);
    return packed.add(source, 6, 6 + key.length);
  });
  assert.deepEqual(hexOf(new ListedKeys(packed, places)), hexOf(keys));
  assert.ok(packed.bytes > 64 * 1024 * 4, 'in several chunks');

  const sorted = resultOf(sortedSetInSteps(places, packed.compare));
  const expected = [...new Set(hexOf(keys.toSorted(Buffer.compare)))];
  assert.deepEqual(hexOf(new ListedKeys(packed, sorted)), expected);
  const copies = resultOf(copiedInSteps(packed, sorted.subarray(10, 2_000)));
  assert.deepEqual(hexOf(copies), expected.slice(10, 2_000));
  assert.ok(copies.bytes < packed.bytes);
});

test('few keys need little memory', () => {
  const packed = new PackedKeys();
  packed.add(Buffer.from('key'), 0, 3);
  assert.equal(packed.bytes, 1024);
});
