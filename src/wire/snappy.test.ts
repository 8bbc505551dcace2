import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aSeed, type Random, randomBytes, randomJson } from '../../test/support/random.ts';
import { snappyBound, snappyCompress, snappyInflate, snappyInflateInto, snappyLength } from './snappy.ts';

const limit = 1 << 24;
const inflate = (hex: string) => {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  return snappyInflate(bytes, 0, bytes.length, limit)?.toString('latin1');
};

function roundTrip(bytes: Buffer): Buffer {
  const packed = snappyCompress(bytes, 0, bytes.length);
  assert.ok(packed.length <= snappyBound(bytes.length));
  assert.equal(snappyLength(packed, 0, packed.length), bytes.length);
  assert.deepEqual(snappyInflate(packed, 0, packed.length, bytes.length), bytes);
  return packed;
}

test('each kind of element is inflated as the format describes it', () => {
  assert.equal(inflate('00'), '');
  assert.equal(inflate('03 08 616263'), 'abc');
  assert.equal(inflate('06 08 616263 0a 0300'), 'abcabc', 'copy with a 2-byte offset');
  assert.equal(inflate('07 08 616263 01 03'), 'abcabca', 'copy with a 1-byte offset, overlapping itself');
  assert.equal(inflate('06 08 616263 0b 03000000'), 'abcabc', 'copy with a 4-byte offset');
  assert.equal(inflate('40 00 61 fa 0100'), 'a'.repeat(64), 'a run');
  for (const [tag, size] of [
    ['f0', 1],
    ['f4', 2],
    ['f8', 3],
    ['fc', 4],
  ] as const) {
    const length = Buffer.alloc(size);
    length.writeUIntLE(61 - 1, 0, size);
    assert.equal(inflate(`3d ${tag} ${length.toString('hex')} ${'78'.repeat(61)}`), 'x'.repeat(61), tag);
  }
});

test('blocks with a wrong length, offset or end are refused', () => {
  const broken = {
    'no bytes': '',
    'endless preamble': 'ffffffffffff',
    'size of 2^32': '8080808010',
    'claim without elements': '05',
    'literal longer than the input': '03 08 6162',
    'literal longer than the claim': '02 08 616263',
    'claim longer than the elements': '04 08 616263',
    'offset zero': '07 08 616263 01 00',
    'offset before the start': '07 08 616263 01 04',
    'copy longer than the claim': '06 08 616263 01 03',
    'copy as first element': '04 01 01',
    'cut in an offset': '06 08 616263 0a 03',
    'cut in a 4-byte offset': '06 08 616263 0b 030000',
    'cut in a literal length': '3d f4 3c',
    'four-byte literal length': '3d fc ffffffff',
    'bytes after the last element': '03 08 616263 00',
  };
  for (const [name, hex] of Object.entries(broken)) assert.equal(inflate(hex), undefined, name);
});

test('a claimed size above the limit, or above what its input can produce, is refused before memory is allocated', () => {
  const packed = snappyCompress(Buffer.alloc(1000, 'a'), 0, 1000);
  assert.equal(snappyInflate(packed, 0, packed.length, 999), null);
  assert.ok(snappyInflate(packed, 0, packed.length, 1000));
  const before = process.memoryUsage().arrayBuffers;
  const claim = Buffer.from('ffffffff0f00', 'hex');
  assert.equal(snappyInflate(claim, 0, claim.length, 2 ** 32), null);
  assert.ok(process.memoryUsage().arrayBuffers - before < 1 << 20);
});

/** Runs, repeats, text and noise in random lengths. */
function aMixture(random: Random, parts: number): Buffer {
  const chunks: Buffer[] = [Buffer.alloc(0)];
  for (let i = 0; i < parts; i++) {
    const kind = random(4);
    if (kind === 0) chunks.push(Buffer.alloc(random(300), random(256)));
    else if (kind === 1) chunks.push(randomBytes(random, random(100)));
    else if (kind === 2) chunks.push(Buffer.from(JSON.stringify(randomJson(random, 3))));
    else chunks.push(chunks[random(chunks.length)] as Buffer);
  }
  return Buffer.concat(chunks);
}

test('what was compressed is inflated to the same: random mixtures, every small length, several blocks', (t) => {
  const random = aSeed(t);
  for (let length = 0; length < 200; length++) roundTrip(Buffer.alloc(length, 'ab'));
  for (let length = 0; length < 70; length++) roundTrip(randomBytes(random, length));
  for (let round = 0; round < 300; round++) roundTrip(aMixture(random, random(20)));
  for (const length of [65535, 65536, 65537, 200_000]) {
    roundTrip(randomBytes(random, length));
    const text = Buffer.alloc(length, 'the same words again and again, ');
    assert.ok(roundTrip(text).length < length / 15);
  }
});

test('a part of a buffer is compressed, and inflated into the middle of another', () => {
  const bytes = Buffer.from('xxaaaaaaaaaaaaaaaaaaaaaaaayy');
  const packed = snappyCompress(bytes, 2, 26);
  const out = Buffer.alloc(30, '.');
  assert.equal(snappyInflateInto(packed, 0, packed.length, out, 3), 27);
  assert.equal(out.toString(), `...${'a'.repeat(24)}...`);
  assert.equal(snappyInflateInto(packed, 0, packed.length, out, 7), -1, 'out of room');
  assert.equal(snappyInflateInto(Buffer.from('05080102', 'hex'), 0, 4, out, 0), -1);
});

test('every truncation is refused, and changed bytes and random input cause no exception', (t) => {
  const random = aSeed(t);
  const bytes = aMixture(random, 12);
  const packed = snappyCompress(bytes, 0, bytes.length);
  for (let end = 0; end < packed.length; end++) assert.equal(snappyInflate(packed, 0, end, limit), null);
  for (let round = 0; round < 5000; round++) {
    const hostile = random(2) === 0 ? randomBytes(random, random(60)) : Buffer.from(packed);
    if (hostile.length > 0) hostile[random(hostile.length)] = random(256);
    const out = Buffer.alloc(4096 + 32, 0xee);
    const end = snappyInflateInto(hostile, 0, hostile.length, out.subarray(0, 4096), 16);
    assert.ok(end <= 4096);
    assert.ok(
      out.subarray(4096).every((byte) => byte === 0xee) && out.subarray(0, 16).every((b) => b === 0xee),
    );
  }
});
