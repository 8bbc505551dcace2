import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realRandom } from '#ports/random.ts';
import { nonceBytes, SecretBox, UnsealError } from './secret-box.ts';

const box = (fill: number) => new SecretBox(Buffer.alloc(32, fill), realRandom);

test('a secret box opens what it sealed, and refuses other texts, purposes and keys', () => {
  const sealed = box(1).seal('smtp', 'pässword');
  assert.equal(box(1).open('smtp', sealed), 'pässword');
  assert.throws(() => box(1).open('xdcr', sealed));
  assert.throws(() => box(2).open('smtp', sealed));
  const changed = Buffer.from(sealed, 'base64');
  changed[changed.length - 1] = (changed.at(-1) as number) ^ 1;
  assert.throws(() => box(1).open('smtp', changed.toString('base64')));
});

test('a secret box refuses a text with a truncated authentication tag', () => {
  const sealed = Buffer.from(box(1).seal('smtp', ''), 'base64');
  assert.equal(box(1).open('smtp', sealed.toString('base64')), '');
  // A whole tag has 16 bytes. GCM alone would accept tags of 4, 12 and 15.
  for (const tagBytes of [0, 4, 12, 15]) {
    const cut = sealed.subarray(0, nonceBytes + tagBytes).toString('base64');
    assert.throws(() => box(1).open('smtp', cut), UnsealError, `${tagBytes} bytes`);
  }
});

test('seals the same secret differently each time', () => {
  assert.notEqual(box(1).seal('a', 's'), box(1).seal('a', 's'));
});

test('derives one key per purpose', () => {
  const keys = [
    box(1).derivedKey('a'),
    box(1).derivedKey('a'),
    box(1).derivedKey('b'),
    box(2).derivedKey('a'),
  ];
  const [first, again, ...others] = keys.map((key) => Buffer.from(key).toString('hex'));
  assert.equal(first, again);
  assert.equal(new Set([first, ...others, Buffer.alloc(32, 1).toString('hex')]).size, 4);
});
