import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestSlot } from './request-slot.ts';

/** The two ends of a slot, which in a node belong to two threads. */
function bothEnds() {
  const asking = new RequestSlot();
  // Waits for nothing: `wake` has answered when it returns.
  const ask = (text: string, wake: () => void): string | null =>
    asking.ask(asking.bytes.write(text), wake, 0)?.toString() ?? null;
  return { asking, answering: new RequestSlot(asking.memory), ask };
}

test('a request is answered, and the slot is free for the next request', () => {
  const { asking, answering, ask } = bothEnds();
  for (const text of ['first', 'b', 'the third request'])
    assert.equal(
      ask(text, () => answering.answer(Buffer.from(`${answering.readRequest()}!`))),
      `${text}!`,
    );
  assert.equal(asking.isFree, true);
});

test('a refused request and a reply that is too large leave the slot free', () => {
  const { asking, answering, ask } = bothEnds();
  for (const reply of [null, Buffer.alloc(asking.bytes.length + 1)]) {
    const answer = () => {
      answering.readRequest();
      answering.answer(reply);
    };
    assert.equal(ask('request', answer), null);
    assert.equal(asking.isFree, true);
  }
  const largest = Buffer.alloc(asking.bytes.length, 1);
  const answer = () => {
    answering.readRequest();
    answering.answer(largest);
  };
  assert.deepEqual(asking.ask(1, answer, 0), largest);
});

test('a request that nobody waits for is not read, and its slot becomes free', () => {
  const { asking, answering, ask } = bothEnds();
  assert.equal(
    ask('late', () => {}),
    null,
  );
  assert.equal(asking.isFree, false);
  assert.equal(answering.readRequest(), null);
  assert.equal(asking.isFree, true);
});

test('an answer that comes too late is not the answer to the next request', () => {
  const { asking, answering, ask } = bothEnds();
  assert.equal(
    ask('slow', () => answering.readRequest()),
    null,
  );
  assert.equal(asking.isFree, false);
  answering.answer(Buffer.from('slow!'));
  assert.equal(asking.isFree, true);
  assert.equal(
    ask('next', () => answering.answer(Buffer.from(`${answering.readRequest()}!`))),
    'next!',
  );
});
