import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UserPlaces } from './user-places.ts';

test('a user without a place may take a spare one; the next request is the first one of the user with the fewest places', () => {
  const places = new UserPlaces(() => ({ places: 2, spare: 1 }));
  const waiting = ['a', 'b', 'c', 'b'].map((user) => ({ user }));
  assert.equal(places.next(waiting), 0);
  places.occupy('a');
  assert.equal(places.next(waiting), 1);
  places.occupy('a');
  assert.deepEqual([places.mayTake('a'), places.mayTake('b')], [false, true]);
  places.occupy('b');
  assert.equal(places.next(waiting), -1);
  places.release('a');
  assert.equal(places.next(waiting), 2, 'the only one without a place');
  places.release('b');
  assert.equal(places.next([{ user: 'a' }]), 0);
  assert.deepEqual([places.total, places.countOf('a'), places.countOf('b')], [1, 1, 0]);
  places.occupy('a');
  assert.ok(places.mayTake('b'), 'a user who has given back all places may take a spare one');
});
