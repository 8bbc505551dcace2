import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashKey } from './hash.ts';
import { Heap } from './heap.ts';
import { KeyIndex } from './key-index.ts';
import { headerBytes, Word } from './layout.ts';

const addItem = (heap: Heap, key: Buffer): number => {
  const address = heap.allocate(headerBytes + key.length);
  const words = heap.words[address >>> 16] as Uint32Array;
  words[((address & 0xffff) << 2) + Word.state] = key.length;
  key.copy(heap.bytes[address >>> 16] as Buffer, ((address & 0xffff) << 4) + headerBytes);
  return address;
};

for (const [title, bits] of [
  ['well spread hashes', 0xffffffff],
  ['hashes that collide a lot', 0x7],
] as const) {
  test(`the index finds what a map finds, through growth and removal, with ${title}`, () => {
    const heap = new Heap();
    const index = new KeyIndex(heap, 2);
    const model = new Map<string, number>();
    let random = 12345;
    const next = (below: number): number => {
      random = (Math.imul(random, 1103515245) + 12345) >>> 0;
      return Math.floor((random / 2 ** 32) * below);
    };
    for (let round = 0; round < 6000; round++) {
      const name = `key-${next(700)}`;
      const key = Buffer.from(name);
      const hash = (hashKey(key, 0, key.length, 7) & bits) >>> 0;
      const slot = index.locate(1, hash, key, 0, key.length);
      assert.equal(slot >= 0 ? index.address(1, slot) : undefined, model.get(name));
      if (slot >= 0) {
        index.remove(1, slot);
        model.delete(name);
      } else {
        const address = addItem(heap, key);
        index.insert(1, hash, address);
        model.set(name, address);
      }
      assert.equal(index.count(1), model.size);
    }
    assert.equal(index.locate(0, 1, Buffer.from('key-1'), 0, 5), -1);
    index.clear(1);
    assert.deepEqual([index.bytes, index.count(1)], [0, 0]);
  });
}

test('the work of a table that grows is stated: the bytes of the new table', () => {
  const heap = new Heap();
  const index = new KeyIndex(heap, 1);
  let workBytes = 0;
  index.onGrown = (bytes) => (workBytes += bytes);
  for (let i = 0; i < 1000; i++) {
    const before = index.bytes;
    workBytes = 0;
    index.insert(0, i, addItem(heap, Buffer.from(`key-${i}`)));
    assert.equal(workBytes, index.bytes === before ? 0 : index.bytes);
  }
});

test('a large table finds, changes and walks all entries while it is rehashed incrementally', () => {
  const heap = new Heap();
  const index = new KeyIndex(heap, 1);
  const model = new Map<string, number>();
  const find = (name: string): number => {
    const key = Buffer.from(name);
    return index.locate(0, hashKey(key, 0, key.length, 7), key, 0, key.length);
  };
  let movingChecks = 0;
  for (let i = 0; i < 60_000; i++) {
    const key = Buffer.from(`key-${i}`);
    const address = addItem(heap, key);
    index.insert(0, hashKey(key, 0, key.length, 7), address);
    model.set(`key-${i}`, address);
    const other = `key-${Math.imul(i, 2654435761) % (i + 1)}`;
    const slot = find(other);
    assert.equal(slot >= 0 ? index.address(0, slot) : undefined, model.get(other));
    if (slot >= 0 && i % 3 === 0) {
      index.remove(0, slot);
      model.delete(other);
    } else if (slot >= 0 && i % 3 === 1) {
      const key = Buffer.from(other);
      assert.equal(index.hash(0, slot), hashKey(key, 0, key.length, 7));
      assert.equal(index.locateAddress(0, index.hash(0, slot), index.address(0, slot)), slot);
      const moved = addItem(heap, key);
      index.replace(0, slot, moved);
      model.set(other, moved);
    }
    const isRehashing = index.slotAt(0, 0) > 0;
    if (isRehashing && ++movingChecks % 500 === 0) assert.deepEqual(walked(index), new Set(model.values()));
  }
  assert.ok(movingChecks > 2000, `${movingChecks} steps during a rehash`);
  while (index.continueRehash(0)) {}
  assert.equal(index.slotAt(0, 0), 0, 'the rehash has ended');
  assert.deepEqual(walked(index), new Set(model.values()));
  assert.equal(index.count(0), model.size);
  index.clear(0);
  assert.equal(index.bytes, 0);
});

function walked(index: KeyIndex): Set<number> {
  const addresses = new Set<number>();
  for (let position = 0; position < index.end(0); position += 2) {
    const address = index.address(0, index.slotAt(0, position));
    if (address === 0) continue;
    assert.ok(!addresses.has(address));
    addresses.add(address);
  }
  return addresses;
}

test('hashes of similar keys spread over all bits', () => {
  const counts = new Uint32Array(256);
  for (let i = 0; i < 25_600; i++) {
    const key = Buffer.from(`\0user:${i}`);
    const hash = hashKey(key, 0, key.length, 99);
    (counts[hash & 255] as number)++;
    (counts[hash >>> 23] as number)++;
  }
  for (const count of counts) assert.ok(count > 120 && count < 280, `a bucket has ${count} of about 200`);
});

test('every byte and the length of a key matter to its hash', () => {
  const key = Buffer.from('abcdefghij');
  const seen = new Set([hashKey(key, 0, 10, 1), hashKey(key, 0, 9, 1), hashKey(key, 0, 10, 2)]);
  for (let i = 0; i < 10; i++) {
    const other = Buffer.from(key);
    other[i] = 0x7a;
    seen.add(hashKey(other, 0, 10, 1));
  }
  assert.equal(seen.size, 13);
});
