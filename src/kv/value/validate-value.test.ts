import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Datatype } from '#wire/status.ts';
import { withXattrs } from '../../../test/support/a-bucket.ts';
import { validateValue } from './validate-value.ts';
import { bodyBytesMax, xattrBytesMax } from './xattrs.ts';

test('a body of the maximum size may have system xattrs up to their own limit; user xattrs count towards the body', () => {
  const faultOf = (xattrs: Record<string, string>) => {
    const value = Buffer.concat([withXattrs(xattrs, ''), Buffer.alloc(bodyBytesMax)]);
    return validateValue(value, 0, value.length, Datatype.xattr).fault;
  };
  const digits = (bytes: number): string => '1'.repeat(bytes);
  const othersBytes = 4 + 4 + '_s'.length + 2;
  assert.equal(faultOf({ _s: digits(xattrBytesMax - othersBytes) }), null);
  assert.equal(faultOf({ _s: digits(xattrBytesMax - othersBytes + 1) }), 'too big');
  assert.equal(faultOf({ _s: '1', u: '1' }), 'too big');
});
