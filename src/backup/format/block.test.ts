import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { aSeed, type Random, randomBytes } from '../../../test/support/random.ts';
import { BackupError } from './backup-error.ts';
import { blockHeaderBytes, checkBlock, encodeDataBlock, readBlockHeader, unpackBlock } from './block.ts';
import { Frame, FrameBuffer, type FrameContent, frameOffsets } from './frame.ts';

const owner = { backup: Buffer.alloc(16, 7), bucket: 0, cipher: null };

const content = (random: Random, seqno: number): FrameContent => ({
  kind: random(3),
  datatype: [0, 1, 4, 5][random(4)] as number,
  collectionId: random(2 ** 32),
  casHi: random(2 ** 32),
  casLo: random(2 ** 32),
  rev: random(2 ** 32) * 2 ** 16,
  seqno,
  flags: random(2 ** 32),
  expiry: random(2 ** 32),
  key: randomBytes(random, 1 + random(250)),
  value: randomBytes(random, random(600)),
});

function encodeBlock(frames: FrameBuffer, offset = 32): Buffer {
  const block = { vb: 5, isLast: true, frames: frames.count, previous: 0, offset };
  return Buffer.concat(encodeDataBlock(owner, block, frames.bytes));
}

/** Opens a block with the steps of a reader of a file. */
function openBlock(bytes: Buffer, offset = 32, blockOwner = owner): { plain: Buffer; offsets: Uint32Array } {
  const start = bytes.subarray(0, blockHeaderBytes);
  const header = readBlockHeader(start, offset);
  const stored = bytes.subarray(blockHeaderBytes, blockHeaderBytes + header.storedBytes);
  checkBlock(blockOwner, start, stored, offset);
  const plain = unpackBlock(header, stored);
  return { plain, offsets: frameOffsets(plain, header.frames) };
}

const anyHeader = {
  vb: 0,
  isLast: true,
  isEncrypted: false,
  frames: 1,
  previous: 0,
  offset: 32,
  storedBytes: 100,
};

test('frames are read as they were written', (t) => {
  const random = aSeed(t);
  const frames = new FrameBuffer();
  const written = Array.from({ length: 300 }, (_, index) => content(random, index + 2 ** 40));
  for (const writtenFrame of written) frames.add(writtenFrame);
  const { plain, offsets } = openBlock(encodeBlock(frames));
  const frame = new Frame();
  for (const [index, writtenFrame] of written.entries()) {
    frame.move(plain, offsets[index] as number);
    assert.deepEqual({ ...frame }, writtenFrame);
  }
  frames.clear();
  assert.equal(openBlock(encodeBlock(frames)).offsets.length, 0);
});

test('a block with any byte changed, cut off, moved or of another backup is refused', (t) => {
  const random = aSeed(t);
  const frames = new FrameBuffer();
  for (let index = 0; index < 3; index++) frames.add(content(random, index));
  const good = encodeBlock(frames);
  t.plan(good.length * 2 + 4);
  for (let at = 0; at < good.length; at++) {
    const changed = Buffer.from(good);
    changed[at] = (changed[at] as number) ^ (1 << random(8));
    t.assert.throws(() => openBlock(changed), BackupError, `byte ${at}`);
    t.assert.throws(() => openBlock(good.subarray(0, at)), BackupError, `cut at ${at}`);
  }
  t.assert.throws(() => openBlock(good, 100), /it was written at offset 32/);
  t.assert.throws(
    () => openBlock(good, 32, { ...owner, bucket: 1, cipher: null }),
    /belongs to another backup/,
  );
  t.assert.throws(
    () => openBlock(good, 32, { backup: Buffer.alloc(16), bucket: 0, cipher: null }),
    /belongs to another backup/,
  );
  t.assert.doesNotThrow(() => openBlock(good));
});

test('random bytes are refused as frames, as headers and as compressed bytes', (t) => {
  const random = aSeed(t);
  for (let round = 0; round < 3_000; round++) {
    const bytes = randomBytes(random, random(300));
    // Zero frames in zero bytes are right.
    const count = bytes.length === 0 ? 1 : random(9);
    assert.throws(() => frameOffsets(bytes, count), BackupError);
    assert.throws(() => readBlockHeader(bytes, random(100)), BackupError);
    assert.throws(() => unpackBlock({ ...anyHeader, plainBytes: 1 + random(300) }, bytes), BackupError);
  }
});

test('frames whose bytes were changed at random are refused or have sizes within the block', (t) => {
  const random = aSeed(t);
  const frames = new FrameBuffer();
  for (let index = 0; index < 5; index++) frames.add(content(random, index));
  const frame = new Frame();
  for (let round = 0; round < 3_000; round++) {
    const bytes = Buffer.from(frames.bytes);
    for (let change = random(4); change >= 0; change--) bytes[random(bytes.length)] = random(256);
    try {
      for (const at of frameOffsets(bytes, 5)) {
        frame.move(bytes, at);
        assert.ok(
          frame.key.byteOffset + frame.key.length <= frame.value.byteOffset || frame.value.length === 0,
        );
        assert.ok(frame.value.byteOffset + frame.value.length <= bytes.byteOffset + bytes.length);
      }
    } catch (error) {
      assert.ok(error instanceof BackupError, String(error));
    }
  }
});

test('a decompression bomb is refused before it is decompressed, and absurd sizes before they are read', () => {
  const bomb = zstdCompressSync(Buffer.alloc(200 << 20));
  const header = { ...anyHeader, storedBytes: bomb.length };
  // The reason of zlib itself: the decompression ended at this size.
  const stopped = /cannot be decompressed: Cannot create a Buffer larger than 1048576 bytes/;
  assert.throws(() => unpackBlock({ ...header, plainBytes: 1 << 20 }, bomb), stopped);
  const claims = encodeBlock(new FrameBuffer());
  claims.writeUInt32BE(0xffffffff, 12);
  assert.throws(() => readBlockHeader(claims, 32), /it claims/);
  assert.throws(() => frameOffsets(Buffer.alloc(100), 0xffffffff), /cannot have 4294967295 frames/);
});
