import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { printedSeed } from '../../../test/support/seed.ts';
import { ChunkWriter, readChunk } from './chunk.ts';

type Samples = readonly (readonly [timeMs: number, value: number])[];

function encodeAndRead(samples: Samples): { read: Samples; bytes: number } {
  const writer = new ChunkWriter();
  for (const [timeMs, value] of samples) writer.append(timeMs, value);
  const timesMs = new Float64Array(samples.length);
  const values = new Float64Array(samples.length);
  const bytes = writer.bytes();
  readChunk(bytes, writer.count, { timesMs, values, start: 0 });
  return { read: [...timesMs].map((time, index) => [time, values[index] as number]), bytes: bytes.length };
}

const start = 1_700_000_000_000;

test('a sample that repeats the interval and the value takes two bits', () => {
  const samples: Samples = Array.from({ length: 120 }, (_, index) => [start + index * 10_000, 42]);
  const { read, bytes } = encodeAndRead(samples);
  assert.deepEqual(read, samples);
  assert.ok(bytes < 16 + 120 / 4 + 8, `${bytes} bytes`);
});

test('every double that was written is read with the same value, NaN and infinities included', () => {
  const values = [
    0,
    -0,
    1,
    -1,
    Number.NaN,
    Infinity,
    -Infinity,
    5e-324,
    1.7976931348623157e308,
    2 ** 53,
    0.1,
  ];
  const samples = values.map((value, index) => [start + index, value] as const);
  const { read } = encodeAndRead(samples);
  assert.deepEqual(read, samples);
});

test('samples with any ascending times and any values are read as they were written', (t) => {
  const sample = fc.tuple(
    fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 1, max: 1e12 })),
    fc.oneof(fc.double(), fc.integer(), fc.constant(7)),
  );
  fc.assert(
    fc.property(fc.array(sample, { minLength: 1, maxLength: 120 }), (steps) => {
      let timeMs = start;
      const samples = steps.map(([step, value]) => {
        timeMs += step;
        return [timeMs, value] as const;
      });
      assert.deepEqual(encodeAndRead(samples).read, samples);
    }),
    { seed: printedSeed(t) },
  );
});
