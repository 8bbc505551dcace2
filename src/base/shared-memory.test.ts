// In these tests only the dropped shared memory can make the garbage collector run: there are nearly no other objects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pagedMemory, reportToCollector, sharedMemory } from './shared-memory.ts';

const mebibyte = 1024 * 1024;
/** How many memories a test drops at most. A collector that does not count their sizes does not run within this number. */
const takenMax = 1024;

/**
 * Drops memory that `allocate` returns, until 32 of them are collected. They are not collected at once: the collector marks concurrently, and on
 * a busy machine it completes a while after the allocation that began the collection.
 *
 * @returns how many were collected
 */
async function collectedOf(allocate: () => SharedArrayBuffer | null): Promise<number> {
  let collected = 0;
  // A WeakRef that is read during a collection would keep its memory.
  const registry = new FinalizationRegistry(() => collected++);
  for (let taken = 0; taken < takenMax && collected < 32; taken++) {
    const memory = allocate();
    assert.ok(memory !== null, 'the system gives memory');
    registry.register(memory, null);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return collected;
}

test('the garbage collector counts the part of a memory that was reported as filled', () => {
  const external = process.memoryUsage().external;
  const memory = sharedMemory(64 * mebibyte);
  assert.ok(memory !== null);
  // Other buffers of the process are created and freed meanwhile.
  const counts = (mebibytes: number) => {
    const counted = (process.memoryUsage().external - external) / mebibyte;
    assert.ok(Math.abs(counted - mebibytes) < 8, `${counted} MiB instead of ${mebibytes}`);
  };
  counts(0);
  for (let at = 0; at < 32 * mebibyte; at += 100_000) reportToCollector(memory, at);
  counts(32);
  reportToCollector(memory);
  reportToCollector(memory);
  counts(64);
});

test('memory without references is collected', async () => {
  const collected = await collectedOf(() => {
    const memory = sharedMemory(16 * mebibyte);
    if (memory !== null) reportToCollector(memory);
    return memory;
  });
  assert.ok(collected >= 32, `${collected} of at most ${takenMax} were collected`);
});

test('the request for memory is answered with null when the system has no memory of that size', () => {
  assert.equal(pagedMemory(2 ** 60), null);
  assert.equal(sharedMemory(2 ** 60), null);
});
