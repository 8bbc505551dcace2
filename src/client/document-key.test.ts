import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { printedSeed } from '../../test/support/seed.ts';
import { vbucketOf, vbucketOfBytes } from './document-key.ts';

fc.configureGlobal({ seed: printedSeed(console.log) });

test('a key in a buffer has the same vbucket as the key as text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.uint8Array(), fc.uint8Array(), (key, before, after) => {
      const bytes = Buffer.from(key);
      const buffer = Buffer.concat([before, bytes, after]);
      const end = before.length + bytes.length;
      assert.equal(vbucketOfBytes(buffer, before.length, end), vbucketOf(key));
    }),
  );
});
