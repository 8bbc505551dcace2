import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32c, crc32cChanged } from './crc32c.ts';

test('the checksums of the published examples are the published ones', () => {
  const published: [Buffer, number][] = [
    [Buffer.alloc(0), 0],
    [Buffer.from('123456789'), 0xe3069283],
    [Buffer.alloc(32), 0x8a9136aa],
    [Buffer.alloc(32, 0xff), 0x62a8ab43],
    [Buffer.from(Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e],
  ];
  for (const [bytes, sum] of published) assert.equal(crc32c(bytes, 0, bytes.length), sum);
  assert.equal(crc32c(Buffer.from('x123456789y'), 1, 10), 0xe3069283);
});

test('the checksum of bytes of which a part has changed follows from the change', () => {
  const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, index) => (index * 31) % 251));
  const checksum = crc32c(bytes, 0, bytes.length);
  for (const start of [0, 1, 2_500, 4_972, 4_979, 4_980]) {
    const changed = Buffer.from(Array.from({ length: 20 }, (_, index) => (index * 77 + start) & 0xff));
    const now = Buffer.from(bytes);
    for (const [index, byte] of changed.entries()) now[start + index] = (now[start + index] as number) ^ byte;
    const found = crc32cChanged(checksum, changed, bytes.length - start - changed.length);
    assert.equal(found, crc32c(now, 0, now.length), `a part at ${start}`);
  }
});
