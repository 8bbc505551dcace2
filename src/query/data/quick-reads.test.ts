import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SlotMessage } from '#wire/document-batch.ts';
import { RequestSlot } from '#wire/request-slot.ts';
import { QuickReads } from './quick-reads.ts';

test('the more reads in a row found the data thread busy, the more go through the data port before the next attempt', () => {
  const slot = new RequestSlot();
  const answering = new RequestSlot(slot.memory);
  let isBusy = true;
  let attempts = 0;
  const answer = (): void => {
    if (answering.readRequest() !== null) answering.answer(Buffer.from('entries'));
  };
  const postMessage = (message: SlotMessage): void => {
    if (message !== null) return;
    attempts++;
    if (!isBusy) answer();
  };
  const reads = new QuickReads({ postMessage }, null, slot);
  const readsUntilAttempt = (): number => {
    const before = attempts;
    for (let count = 1; ; count++) {
      reads.read('b', 0, ['k']);
      if (attempts > before) return count;
    }
  };
  const counts: number[] = [];
  for (let round = 0; round < 9; round++) {
    counts.push(readsUntilAttempt());
    answer(); // too late
  }
  assert.deepEqual(counts, [1, 2, 4, 8, 16, 32, 64, 65, 65]);
  isBusy = false;
  assert.equal(readsUntilAttempt(), 65);
  for (let round = 0; round < 3; round++) assert.equal(reads.read('b', 0, ['k'])?.toString(), 'entries');
});

test('a request that does not fit into the slot is left to the data port', () => {
  const reads = new QuickReads({ postMessage: () => {} });
  assert.equal(reads.read('b', 0, Array<string>(100).fill('k'.repeat(246))), null);
});
