import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeBuffer } from './free-buffer.ts';

test('the memory of a large buffer is freed, and memory that buffers share is not', () => {
  const before = process.memoryUsage().arrayBuffers;
  for (let round = 0; round < 100; round++) freeBuffer(Buffer.alloc(1 << 20, round));
  assert.ok(process.memoryUsage().arrayBuffers - before < 8 << 20);

  const [small, neighbour] = [Buffer.from('one'), Buffer.from('two')];
  freeBuffer(small);
  assert.equal(`${small} ${neighbour}`, 'one two');
  freeBuffer(Buffer.from(new SharedArrayBuffer(1 << 20)));

  const large = Buffer.alloc(1 << 20, 'x');
  const view = large.subarray(1);
  freeBuffer(large);
  assert.deepEqual([large.length, view.length], [0, 0]);
});
