import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Datatype } from '#wire/status.ts';
import { type CutItem, CutReader, CutWriter, emptyCutItem, stateOfVbucket } from './cut.ts';

const anItem = (seqno: number, key: string, value: string): CutItem => {
  const buffer = Buffer.from(key + value);
  return {
    buffer,
    keyStart: 0,
    keyEnd: key.length,
    valueStart: key.length,
    valueEnd: buffer.length,
    seqno,
    casHi: 0xdeadbeef,
    casLo: 7,
    rev: 3,
    flags: 0xffffffff,
    expiry: 5,
    datatype: Datatype.json,
    bits: 0,
  };
};

test('cuts are decoded as they were encoded, also when the buffer grew between them', () => {
  const writer = new CutWriter(16);
  const failover = Uint8Array.from({ length: 16 }, (_, i) => i);
  const state = {
    vb: 1023,
    startSeqno: 1,
    endSeqno: 2 ** 42,
    maxCasHi: 0xffffffff,
    maxCasLo: 1,
    maxDeletedRev: 9,
    purgeSeqno: 4,
    manifestUid: 11,
    items: 2,
    deleted: 1,
    snapStart: 2 ** 42 - 7,
    snapEnd: 2 ** 42 + 3,
    epoch: 2 ** 40 + 1,
    copy: 1,
    failover,
  };
  writer.begin(16);
  writer.item(anItem(2 ** 42 - 1, '\0a', 'x'.repeat(100)));
  writer.item(anItem(2 ** 42, '\0b', ''));
  writer.finish(state);
  writer.begin(0);
  writer.finish({ ...state, vb: 0, failover: new Uint8Array(0) });
  const reader = new CutReader(writer.drain());
  assert.ok(reader.nextCut());
  assert.deepEqual({ ...reader.state, failover: Uint8Array.from(reader.state.failover) }, state);
  assert.ok(reader.nextItem());
  const { buffer: _, ...item } = reader.item;
  assert.equal(reader.item.buffer.toString('latin1', item.keyStart, item.keyEnd), '\0a');
  assert.equal(item.seqno, 2 ** 42 - 1);
  assert.ok(reader.nextItem() && !reader.nextItem());
  assert.ok(reader.nextCut());
  assert.equal(reader.state.vb, 0);
  assert.equal(reader.nextCut(), false);
});

test('the writer frees the buffers that it has outgrown, and its own when all is taken, at once', () => {
  const mebibyte = 2 ** 20;
  const value = Buffer.alloc(mebibyte);
  const bufferBytes = (): number => process.memoryUsage().arrayBuffers;
  const before = bufferBytes();
  const writer = new CutWriter();
  writer.begin(0);
  for (let i = 0; i < 20; i++) writer.itemOf(emptyCutItem(), Buffer.from('k'), value);
  writer.finish(stateOfVbucket(0));
  assert.ok(bufferBytes() - before < 40 * mebibyte, `${bufferBytes() - before} bytes while growing`);
  const cuts = writer.takeAll();
  assert.ok(cuts.length > 20 * mebibyte);
  assert.ok(bufferBytes() - before < cuts.length + mebibyte, `${bufferBytes() - before} bytes once taken`);
});

test('the writer hands a large item over in the buffer in which it was encoded, and continues with another buffer', () => {
  const writer = new CutWriter();
  const values = ['a', 'b'].map((letter) => Buffer.alloc(2 ** 21, letter));
  const cutsOfEach = values.map((value) => {
    writer.begin(0);
    writer.itemOf(emptyCutItem(), Buffer.from('k'), value);
    writer.finish(stateOfVbucket(0));
    const encodedAt = process.memoryUsage().arrayBuffers;
    const cuts = writer.drain();
    assert.ok(process.memoryUsage().arrayBuffers - encodedAt < 2 ** 20, 'the large item was copied');
    return cuts;
  });
  for (const [index, cuts] of cutsOfEach.entries()) {
    const reader = new CutReader(cuts);
    assert.ok(reader.nextCut() && reader.nextItem());
    const { buffer, valueStart, valueEnd } = reader.item;
    assert.ok(buffer.subarray(valueStart, valueEnd).equals(values[index] as Buffer));
    assert.equal(reader.nextCut(), false);
  }
});
