// Memory that cuts are encoded in and that the disk thread reads in place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CutWriter, emptyCutItem, stateOfVbucket } from '../data/cut.ts';
import { SharedBlocks, sharedBlockBytes, sharedBlocksMax } from './shared-blocks.ts';

const isShared = ({ buffer }: Uint8Array): boolean => buffer instanceof SharedArrayBuffer;

/** Cuts with one document of this size. */
function cutsOf(writer: CutWriter, valueBytes: number): Uint8Array {
  const buffer = Buffer.alloc(valueBytes + 1, 'v');
  writer.begin(0);
  writer.item({ ...emptyCutItem(buffer), keyEnd: 1, valueStart: 1, valueEnd: buffer.length });
  writer.finish(stateOfVbucket(0));
  return writer.drain();
}

test('large cuts are handed over in their block, which is used again once it is released', () => {
  const blocks = new SharedBlocks();
  const writer = new CutWriter(0, blocks);
  const first = cutsOf(writer, 1_000_000);
  const second = cutsOf(writer, 1_000_000);
  assert.ok(isShared(first) && isShared(second));
  assert.notEqual(first.buffer, second.buffer, 'the first cuts would be overwritten before they are written');
  assert.deepEqual(first, second);
  blocks.release(first);
  assert.equal(cutsOf(writer, 2_000_000).buffer, first.buffer);
});

test('small cuts are copied, so that their block is free at once', () => {
  const writer = new CutWriter(0, new SharedBlocks());
  const small = cutsOf(writer, 1_000);
  assert.ok(!isShared(small));
  assert.equal(small.byteLength, small.buffer.byteLength, 'the memory could not be transferred');
});

test('cuts that are larger than a block, or find all blocks in use, have memory of their own', () => {
  const blocks = new SharedBlocks();
  const large = cutsOf(new CutWriter(0, blocks), sharedBlockBytes);
  assert.ok(!isShared(large));
  const taken = Array.from({ length: sharedBlocksMax }, () => cutsOf(new CutWriter(0, blocks), 1_000_000));
  assert.ok(taken.every(isShared));
  assert.ok(!isShared(cutsOf(new CutWriter(0, blocks), 1_000_000)));
  blocks.release(taken[0] as Uint8Array);
  assert.ok(isShared(cutsOf(new CutWriter(0, blocks), 1_000_000)));
});

test('free blocks are given up while their thread is idle, those in use later', () => {
  const blocks = new SharedBlocks();
  const writer = new CutWriter(0, blocks);
  const cuts = cutsOf(writer, 1_000_000);
  assert.equal(blocks.dropFree(), false);
  blocks.release(cuts);
  assert.equal(blocks.dropFree(), true);
  assert.equal(blocks.dropFree(), false);
  const taken = Array.from({ length: sharedBlocksMax }, () => cutsOf(new CutWriter(0, blocks), 1_000_000));
  assert.ok(taken.every(isShared), 'blocks that were given up still count');
});

test('blocks in which only small cuts were encoded are not given up: each time a collection would stop the thread', () => {
  const blocks = new SharedBlocks();
  const writer = new CutWriter(0, blocks);
  cutsOf(writer, 1_000);
  writer.release();
  assert.equal(blocks.dropFree(), false);
  blocks.release(cutsOf(writer, 1_000_000));
  writer.release();
  assert.equal(blocks.dropFree(), true);
});
