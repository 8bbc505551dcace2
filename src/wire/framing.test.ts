import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyFraming, encodeDuration, readFraming } from './framing.ts';
import { Status } from './status.ts';

const read = (...bytes: number[]) => {
  const framing = emptyFraming();
  return { status: readFraming(Buffer.from(bytes), 0, bytes.length, framing), framing };
};

test('durability is read with and without a time-out', () => {
  assert.equal(read(0x11, 3).framing.durabilityLevel, 3);
  const timed = read(0x13, 1, 0x23, 0x28);
  assert.equal(timed.status, Status.success);
  assert.equal(timed.framing.durabilityTimeoutMs, 9000);
});

test('several frames are read, and ids and lengths in their long form', () => {
  const { status, framing } = read(0x50, 0x00, 0x11, 1);
  assert.equal(status, Status.success);
  assert.deepEqual([framing.preserveTtl, framing.barrier, framing.durabilityLevel], [true, true, 1]);
  assert.equal(read(0x4f, 1, ...new Array(16).fill(65)).framing.impersonates, true);
  assert.equal(read(0xf0, 0).status, Status.unknownFrameInfo);
});

test('invalid levels, time-outs and sizes, unknown ids and every truncation are refused', () => {
  assert.equal(read(0x11, 4).status, Status.durabilityInvalidLevel);
  assert.equal(read(0x11, 0).status, Status.durabilityInvalidLevel);
  assert.equal(read(0x13, 1, 0, 0).status, Status.invalidArguments);
  assert.equal(read(0x13, 1, 0xff, 0xff).status, Status.invalidArguments);
  assert.equal(read(0x12, 1, 0).status, Status.invalidArguments);
  assert.equal(read(0x51, 1).status, Status.invalidArguments);
  assert.equal(read(0x30).status, Status.unknownFrameInfo);
  for (const bytes of [[0x13], [0x13, 1], [0x13, 1, 0], [0xf0], [0x4f], [0x4f, 9]]) {
    assert.equal(read(...bytes).status, Status.invalidArguments, bytes.join());
  }
});

test('a duration is decoded to about the value that was encoded', () => {
  for (const microseconds of [1, 10, 1000, 123_456, 5_000_000]) {
    const decoded = encodeDuration(microseconds) ** 1.74 / 2;
    assert.ok(Math.abs(decoded - microseconds) <= microseconds * 0.5 + 1, `${microseconds} gave ${decoded}`);
  }
  assert.equal(encodeDuration(1e12), 0xffff);
});
