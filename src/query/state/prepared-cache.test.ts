import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PreparedCache, type PreparedEntry, preparedCharactersMax } from './prepared-cache.ts';

const anEntry = (name: string, characters: number): PreparedEntry =>
  ({ name, queryContext: '', text: 'x'.repeat(characters), prepared: { text: '' } }) as PreparedEntry;

const namesOf = (cache: PreparedCache): string[] => cache.all().map(({ name }) => name);

test('the least recently used statements are evicted above the limit of their number', () => {
  const cache = new PreparedCache();
  for (const name of ['a', 'b']) cache.add(anEntry(name, 1), 2);
  cache.find('a', '');
  cache.add(anEntry('c', 1), 2);
  assert.deepEqual(namesOf(cache), ['a', 'c']);
});

test('a statement that was found is the most recently used one again after another was added or removed', () => {
  const cache = new PreparedCache();
  cache.add(anEntry('a', 1), 3);
  cache.find('a', '');
  cache.add(anEntry('b', 1), 3);
  cache.find('a', '');
  assert.deepEqual(namesOf(cache), ['b', 'a']);
  cache.find('b', '');
  cache.remove('b');
  assert.equal(cache.find('b', ''), undefined);
  cache.add(anEntry('c', 1), 3);
  assert.deepEqual(namesOf(cache), ['a', 'c']);
});

test('the least recently used statements are evicted above the limit of the length of all texts', () => {
  const cache = new PreparedCache();
  const half = preparedCharactersMax / 2;
  for (const name of ['a', 'b', 'b']) cache.add(anEntry(name, half), 100);
  cache.find('a', '');
  assert.deepEqual(namesOf(cache), ['b', 'a']);
  cache.remove('b');
  cache.add(anEntry('c', half), 100);
  assert.deepEqual(namesOf(cache), ['a', 'c']);
  cache.add(anEntry('d', 1), 100);
  assert.deepEqual(namesOf(cache), ['c', 'd']);
});
