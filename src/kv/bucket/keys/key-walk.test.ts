import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyWalk } from './key-walk.ts';

/** A table of eight slots: the addresses in it and where the search for each begins. */
class Table {
  private slots: (readonly [address: number, home: number] | null)[];

  constructor(slots: Record<number, readonly [number, number]>) {
    this.slots = Array.from({ length: 8 }, (_, slot) => slots[slot] ?? null);
  }
  continueRehash = () => false;
  end = () => 16;
  address = (_: number, slot: number) => this.slots[slot / 2]?.[0] ?? 0;
  hash = (_: number, slot: number) => this.slots[slot / 2]?.[1] ?? 0;
  /** Replaces the entries, for instance by those after a removal, which moves later ones up. */
  put(slots: Record<number, readonly [number, number]>): void {
    this.slots = new Table(slots).slots;
  }
}

test('a walk visits entries that a removal moves to slots that the walk has passed', () => {
  const table = new Table({ 0: [10, 0], 1: [11, 0], 2: [12, 1], 4: [14, 4] });
  const visited: number[] = [];
  const walk = new KeyWalk(table, 0, (address) => visited.push(address));
  assert.equal(walk.slice(1), false);
  table.put({ 0: [11, 0], 1: [12, 1], 4: [14, 4] });
  while (!walk.slice(1));
  assert.deepEqual(visited.sort(), [10, 11, 12, 14]);
});

test('a walk visits entries that occupy the last slot and the first ones', () => {
  const table = new Table({ 7: [17, 7], 0: [10, 7], 1: [11, 0] });
  const visited: number[] = [];
  const walk = new KeyWalk(table, 0, (address) => visited.push(address));
  while (!walk.slice(3));
  assert.deepEqual(visited.sort(), [10, 11, 17]);
});
