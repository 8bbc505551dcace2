import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realRandom } from '#ports/random.ts';
import { firstEpochs, nextEpochs } from './filter-epochs.ts';

test('equal filters have the same first epoch; it is empty without a filter', () => {
  assert.deepEqual(firstEpochs(''), ['']);
  assert.deepEqual(firstEpochs('EXISTS(a)'), firstEpochs('EXISTS(a)'));
  assert.notDeepEqual(firstEpochs('EXISTS(a)'), firstEpochs('EXISTS(b)'));
});

test('a changed filter continues the checkpoints of all former filters, or of none', () => {
  const first = firstEpochs('EXISTS(a)');
  const second = nextEpochs(first, true, realRandom);
  const third = nextEpochs(second, true, realRandom);
  assert.deepEqual(third.slice(1), second);
  assert.deepEqual(second.slice(1), first);
  assert.equal(new Set(third).size, 3);
  const restarted = nextEpochs(third, false, realRandom);
  assert.equal(restarted.length, 1);
  assert.ok(!third.includes(restarted[0] as string));
  let many = third;
  for (let count = 0; count < 30; count++) many = nextEpochs(many, true, realRandom);
  assert.equal(many.length, 20);
});
