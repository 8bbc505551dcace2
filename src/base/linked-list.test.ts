import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LinkedList } from './linked-list.ts';
import { prng } from './prng.ts';

test('a linked list has the values that were added and not removed, in the order of their addition', () => {
  const random = prng(1);
  const list = new LinkedList<number>();
  let expected: { value: number; link: ReturnType<LinkedList<number>['add']> }[] = [];
  for (let round = 0; round < 2_000; round++) {
    if (expected.length === 0 || random.next() < 0.5) expected.push({ value: round, link: list.add(round) });
    else {
      const [removed] = expected.splice(random.below(expected.length), 1);
      const { link } = removed as (typeof expected)[number];
      list.remove(link);
      list.remove(link);
      assert.deepEqual([link.previous, link.next], [null, null], 'a removed link keeps no others in memory');
    }
    const values = expected.map(({ value }) => value);
    assert.deepEqual(list.values(), values);
    assert.equal(list.size, values.length);
    assert.equal(list.first?.value, values[0]);
    if (round % 500 === 499) {
      for (const { link } of expected) list.remove(link);
      expected = [];
    }
  }
});
