// The collector runs because of the memory that was dropped, not because of other objects: there are nearly none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pagedMemory, sharedMemory, weigh } from './shared-memory.ts';

const mebibyte = 1024 * 1024;

/** Drops memory that `take` returns, 64 times, and counts what is still there. */
async function leftOf(take: () => SharedArrayBuffer | null): Promise<number> {
  const dropped: WeakRef<SharedArrayBuffer>[] = [];
  for (let count = 0; count < 64; count++) {
    const memory = take();
    assert.ok(memory !== null, 'the system gives memory');
    dropped.push(new WeakRef(memory));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return dropped.filter((memory) => memory.deref() !== undefined).length;
}

test('memory that is filled bit by bit weighs what is filled', () => {
  const external = process.memoryUsage().external;
  const memory = sharedMemory(64 * mebibyte);
  assert.ok(memory !== null);
  /** Other buffers of the process come and go meanwhile. */
  const weighs = (mebibytes: number) => {
    const weight = (process.memoryUsage().external - external) / mebibyte;
    assert.ok(Math.abs(weight - mebibytes) < 8, `${weight} MiB instead of ${mebibytes}`);
  };
  weighs(0);
  for (let at = 0; at < 32 * mebibyte; at += 100_000) weigh(memory, at);
  weighs(32);
  weigh(memory);
  weigh(memory);
  weighs(64);
});

test('memory that nobody refers to any more is collected', async () => {
  const left = await leftOf(() => {
    const memory = sharedMemory(16 * mebibyte);
    if (memory !== null) weigh(memory);
    return memory;
  });
  assert.ok(left <= 32, `${left} of 64 are still there`);
});

test('answers null when the system has no memory of that size', () => {
  assert.equal(pagedMemory(2 ** 60), null);
  assert.equal(sharedMemory(2 ** 60), null);
});
