import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32c } from './crc32c.ts';

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
