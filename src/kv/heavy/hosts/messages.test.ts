import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largeMemory } from '../../memory/item-memory.ts';
import { withBuffers } from './messages.ts';

const megabytes = (): number => process.memoryUsage().external / 1e6;

test('the memory of a document counts in the thread that sends it and in the thread that receives it', () => {
  const before = megabytes();
  const memory = largeMemory(2 ** 26);
  assert.ok(memory !== null);
  assert.ok(megabytes() - before > 50, 'not counted in the thread that made it');
  const sent = structuredClone({ value: new Uint8Array(memory, 100, 1000) });
  const { value } = withBuffers(sent);
  assert.equal(value.length, 1000);
  assert.ok(megabytes() - before > 110, 'not counted in the thread that received it');
});
