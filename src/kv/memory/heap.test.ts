import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eventually } from '../../../test/support/node-process.ts';
import { Heap } from './heap.ts';
import { classCount, classOf, classUnitsMax, pageBytes, unitsOf } from './size-classes.ts';

test('every size class fits the sizes mapped to it and wastes at most a sixteenth', () => {
  for (let units = 1; units <= classUnitsMax; units++) {
    const size = unitsOf(classOf(units));
    assert.ok(size >= units && size <= units * (17 / 16) + 1, `${units} units got ${size}`);
  }
  assert.ok(classOf(classUnitsMax) < classCount);
});

test('chunks do not overlap, and empty pages are released', () => {
  const heap = new Heap();
  const sizes = [1, 16, 17, 100, 333, 4096, 70_000, 400_000, pageBytes, 3 * pageBytes + 5];
  const pieces: { address: number; size: number; mark: number }[] = [];
  for (let round = 0; round < 300; round++) {
    const size = sizes[round % sizes.length] as number;
    const address = heap.allocate(size);
    assert.notEqual(address, 0);
    const at = (address & 0xffff) * 16;
    heap.bytes[address >>> 16]?.fill(round & 0xff, at, at + size);
    pieces.push({ address, size, mark: round & 0xff });
    if (round % 3 === 2)
      heap.free((pieces.splice(round % pieces.length, 1)[0] as { address: number }).address);
  }
  for (const { address, size, mark } of pieces) {
    const at = (address & 0xffff) * 16;
    const bytes = heap.bytes[address >>> 16]?.subarray(at, at + size) as Buffer;
    assert.ok(bytes.equals(Buffer.alloc(size, mark)));
  }
  for (const { address } of pieces) heap.free(address);
  assert.deepEqual([heap.usedBytes, heap.touchedBytes, heap.allocatedBytes], [0, 0, 0]);
});

test('only the touched part of a page counts, and a chunk that reuses freed memory adds nothing', () => {
  const heap = new Heap();
  const first = heap.allocate(100);
  assert.equal(heap.touchedBytes, 112);
  heap.allocate(100);
  heap.free(first);
  assert.equal(heap.growth(100), 0);
  assert.equal(heap.allocate(97), first);
  assert.equal(heap.touchedBytes, 224);
  assert.equal(heap.growth(100), 112);
});

test('the heap knows whether a larger or smaller size would use the same chunk', () => {
  const heap = new Heap();
  const small = heap.allocate(100);
  assert.ok(heap.fits(small, 97) && heap.fits(small, 112) && !heap.fits(small, 113) && !heap.fits(small, 96));
  const large = heap.allocate(2 * pageBytes);
  assert.ok(
    heap.fits(large, 2 * pageBytes - 100) && !heap.fits(large, 2 * pageBytes + 1) && !heap.fits(large, 10),
  );
});

test('the heap knows that a page has no values until a value is allocated there, also during a scan', () => {
  const heap = new Heap();
  const pageOf = (address: number): number => address >>> 16;
  const page = pageOf(heap.allocate(64));
  const scanned = (meanwhile: () => void = () => {}): boolean => {
    heap.beginValueScan(page);
    meanwhile();
    heap.endValueScan(page);
    return heap.isValueFree(page);
  };
  assert.equal(heap.isValueFree(page), false);
  assert.equal(
    scanned(() => heap.noteValue(page)),
    false,
  );
  assert.equal(
    scanned(() => heap.allocate(64)),
    false,
  );
  assert.equal(
    scanned(() => heap.allocateKeyOnly(64)),
    true,
  );
  assert.equal(pageOf(heap.allocateKeyOnly(64)), page);
  assert.equal(heap.isValueFree(page), true);
  assert.equal(pageOf(heap.allocate(64)), page);
  assert.equal(heap.isValueFree(page), false);
  scanned();
  heap.allocateKeyOnly(2 ** 21);
  assert.equal(heap.isValueFree(page), true);
});

test('memory is returned to the system, also between pages that stay', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const fill = (heap: Heap) => {
    const address = heap.allocate(pageBytes);
    heap.bytes[address >>> 16]?.fill(1);
  };
  const filled = (pages: number) => {
    const heaps = [new Heap(), new Heap()] as const;
    for (let page = 0; page < pages; page++) heaps.forEach(fill);
    return heaps;
  };
  // Whether the process's allocator returns freed memory depends on its history.
  for (const heap of filled(20)) heap.clear();
  collect();
  const [cleared, unchanged] = filled(200);
  const full = process.memoryUsage.rss();
  cleared.clear();
  await eventually(() => {
    collect();
    const back = (full - process.memoryUsage.rss()) / pageBytes;
    assert.ok(back > 150, `${Math.round(back)} of 200 MiB came back`);
  });
  assert.equal(unchanged.usedBytes, 200 * pageBytes);
});
