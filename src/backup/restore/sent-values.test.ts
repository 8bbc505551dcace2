import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SentValues, type ValueBuffer } from './sent-values.ts';

const textOf = ({ bytes, end }: ValueBuffer, length: number): string =>
  bytes.toString('latin1', end - length, end);

test('values stay as they were until their writes end, and their memory is used again', () => {
  const values = new SentValues(1_000);
  const slow = values.add(Buffer.alloc(100, 's'));
  const slowEnd = slow.end;
  const seen = new Set<Buffer>([slow.bytes]);
  for (let round = 0; round < 500; round++) {
    const buffer = values.add(Buffer.alloc(300, round));
    seen.add(buffer.bytes);
    assert.equal(textOf(buffer, 300), String.fromCharCode(round % 256).repeat(300));
    values.release(buffer);
  }
  assert.equal(slow.bytes.toString('latin1', slowEnd - 100, slowEnd), 's'.repeat(100));
  assert.equal(seen.size, 2);
  assert.equal(values.heldBytes, 1_000);
  values.release(slow);
  assert.equal(values.heldBytes, 0);
});

test('whole buffers count as held, even if only one write of each is in flight; large ones are not kept for reuse', () => {
  const values = new SentValues(1_000);
  const [first, ...others] = Array.from({ length: 10 }, () => values.add(Buffer.alloc(400)));
  for (const [index, buffer] of others.entries()) if (index % 2 === 0) values.release(buffer);
  assert.equal(values.heldBytes, 5_000);
  const large = values.add(Buffer.alloc(5_000, 'l'));
  assert.equal(values.heldBytes, 10_000);
  assert.equal(textOf(large, 5_000), 'l'.repeat(5_000));
  values.release(large);
  assert.equal(values.heldBytes, 5_000);
  values.release(first as ValueBuffer);
  for (const [index, buffer] of others.entries()) if (index % 2 !== 0) values.release(buffer);
  assert.equal(values.heldBytes, 0);
});
