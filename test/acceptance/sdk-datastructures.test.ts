// The lists, maps, queues and sets that the official SDK keeps in documents.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Collection, CouchbaseError, PathNotFoundError } from 'couchbase';
import { SdkNode } from '../support/sdk-node.ts';

describe('data structures of the official SDK', () => {
  let sdk: SdkNode;
  let collection: Collection;

  before(async () => {
    sdk = await SdkNode.start();
    collection = sdk.collection;
  });
  after(() => sdk?.[Symbol.asyncDispose]());

  test('a list supports push at both ends, access by index, search and removal', async () => {
    const list = collection.list('list');
    await list.push('b');
    await list.push({ deep: [1] });
    await list.unshift('a');
    assert.deepEqual(await list.getAll(), ['a', 'b', { deep: [1] }]);
    assert.deepEqual([await list.getAt(1), await list.getAt(-1)], ['b', { deep: [1] }]);
    assert.deepEqual([await list.indexOf('b'), await list.indexOf('z'), await list.size()], [1, -1, 3]);
    await list.removeAt(0);
    assert.deepEqual(await list.getAll(), ['b', { deep: [1] }]);
    const seen: unknown[] = [];
    await list.forEach((value) => {
      seen.push(value);
    });
    for await (const value of list) seen.push(value);
    assert.equal(seen.length, 4);
    await assert.rejects(list.getAt(9), PathNotFoundError);
  });

  test('a map supports set, get, listing and removal by name', async () => {
    const map = collection.map('map');
    await map.set('one', 1);
    await map.set('two', { two: 2 });
    await map.set('one', 'first');
    assert.deepEqual(await map.getAll(), { one: 'first', two: { two: 2 } });
    assert.deepEqual([await map.get('two'), await map.size()], [{ two: 2 }, 2]);
    assert.deepEqual([await map.exists('one'), await map.exists('three')], [true, false]);
    assert.deepEqual((await map.keys()).sort(), ['one', 'two']);
    assert.deepEqual(await map.values(), ['first', { two: 2 }]);
    await map.remove('one');
    assert.deepEqual(await map.keys(), ['two']);
    await assert.rejects(map.get('one'), PathNotFoundError);
  });

  test('a queue is first in, first out, also with concurrent clients', async () => {
    const queue = collection.queue('queue');
    for (const value of ['first', 'second', 'third']) await queue.push(value);
    assert.equal(await queue.size(), 3);
    assert.deepEqual([await queue.pop(), await queue.pop()], ['first', 'second']);
    await queue.pop();
    await assert.rejects(queue.pop(), CouchbaseError);
    for (let i = 0; i < 12; i++) await queue.push(i);
    const popped = await Promise.all(Array.from({ length: 12 }, () => queue.pop()));
    assert.deepEqual(
      popped.sort((a, b) => a - b),
      Array.from({ length: 12 }, (_, i) => i),
    );
  });

  test('a set holds each value once', async () => {
    const set = collection.set('set');
    assert.deepEqual([await set.add('m'), await set.add('m'), await set.add('n')], [true, false, true]);
    assert.deepEqual([await set.contains('m'), await set.contains('z'), await set.size()], [true, false, 2]);
    await set.remove('m');
    assert.deepEqual(await set.values(), ['n']);
  });
});
