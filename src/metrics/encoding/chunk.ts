// Samples of one series, compressed as in the Gorilla paper (VLDB 2015): timestamps as delta of deltas, values as the XOR with
// the previous value. A sample that repeats both the delta and the value takes two bits.
import { BitReader, BitWriter } from './bits.ts';

/** A full chunk: twenty minutes at a sample each ten seconds. */
export const samplesPerChunk = 120;

/** The number of bits for a delta of deltas, chosen by its size; a prefix of ones names the choice. */
const deltaOfDeltaBits = [14, 17, 20] as const;
/** `#leading` before the first value that differs from the previous one: no range of differing bits is known yet. */
const noWindow = 255;

// Two views of the same eight bytes: a double, and its two 32-bit words.
const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);
const high = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0;
const low = 1 - high;

export class ChunkWriter {
  readonly #bits = new BitWriter();
  count = 0;
  firstMs = 0;
  lastMs = 0;
  #delta = 0;
  #high = 0;
  #low = 0;
  #leading = noWindow;
  #trailing = 0;

  append(timeMs: number, value: number): void {
    if (this.count === 0) this.#first(timeMs, value);
    else this.#next(timeMs, value);
    this.lastMs = timeMs;
    this.count++;
  }

  get byteLength(): number {
    return this.#bits.byteLength;
  }

  /** A copy of the bytes written so far. */
  bytes(): Uint8Array {
    return this.#bits.view().slice();
  }

  #first(timeMs: number, value: number): void {
    this.firstMs = timeMs;
    writeDouble(this.#bits, timeMs);
    writeDouble(this.#bits, value);
    double[0] = value;
    this.#high = halves[high] as number;
    this.#low = halves[low] as number;
  }

  #next(timeMs: number, value: number): void {
    const delta = timeMs - this.lastMs;
    writeDeltaOfDelta(this.#bits, delta - this.#delta);
    this.#delta = delta;
    double[0] = value;
    const [nowHigh, nowLow] = [halves[high] as number, halves[low] as number];
    this.#writeDifference((nowHigh ^ this.#high) >>> 0, (nowLow ^ this.#low) >>> 0);
    this.#high = nowHigh;
    this.#low = nowLow;
  }

  #writeDifference(differsHigh: number, differsLow: number): void {
    const bits = this.#bits;
    if (differsHigh === 0 && differsLow === 0) {
      bits.write(0, 1);
      return;
    }
    const leading = Math.min(differsHigh !== 0 ? Math.clz32(differsHigh) : 32 + Math.clz32(differsLow), 31);
    const trailing = differsLow !== 0 ? trailingZeros(differsLow) : 32 + trailingZeros(differsHigh);
    if (this.#leading !== noWindow && leading >= this.#leading && trailing >= this.#trailing) {
      bits.write(0b10, 2);
    } else {
      this.#leading = leading;
      this.#trailing = trailing;
      bits.write(0b11, 2);
      bits.write(leading, 5);
      bits.write((64 - leading - trailing) & 63, 6);
    }
    this.#writeWindow(differsHigh, differsLow);
  }

  #writeWindow(differsHigh: number, differsLow: number): void {
    const trailing = this.#trailing;
    const count = 64 - this.#leading - trailing;
    if (trailing >= 32) {
      this.#bits.write(differsHigh >>> (trailing - 32), count);
      return;
    }
    if (count > 32) this.#bits.write(differsHigh >>> trailing, count - 32);
    const carried = trailing === 0 ? 0 : differsHigh << (32 - trailing);
    this.#bits.write((differsLow >>> trailing) | carried, Math.min(count, 32));
  }
}

/** Decodes the samples of a chunk into both arrays, starting at index `start`. */
export function readChunk(
  bytes: Uint8Array,
  count: number,
  into: { timesMs: Float64Array; values: Float64Array; start: number },
): void {
  const bits = new BitReader(bytes);
  const { timesMs, values } = into;
  let timeMs = readDouble(bits);
  let value = readDouble(bits);
  double[0] = value;
  const last = { high: halves[high] as number, low: halves[low] as number, leading: 0, trailing: 0 };
  let delta = 0;
  for (let index = 0; index < count; index++) {
    if (index > 0) {
      delta += readDeltaOfDelta(bits);
      timeMs += delta;
      value = readValue(bits, last, value);
    }
    timesMs[into.start + index] = timeMs;
    values[into.start + index] = value;
  }
}

interface LastValue {
  high: number;
  low: number;
  leading: number;
  trailing: number;
}

function readValue(bits: BitReader, last: LastValue, value: number): number {
  if (bits.read(1) === 0) return value;
  if (bits.read(1) === 1) {
    last.leading = bits.read(5);
    last.trailing = 64 - last.leading - (bits.read(6) || 64);
  }
  const { trailing } = last;
  const count = 64 - last.leading - trailing;
  const upper = count > 32 ? bits.read(count - 32) : 0;
  const lower = bits.read(Math.min(count, 32));
  if (trailing >= 32) last.high = (last.high ^ (lower << (trailing - 32))) >>> 0;
  else {
    last.low = (last.low ^ (lower << trailing)) >>> 0;
    const carried = trailing === 0 ? 0 : lower >>> (32 - trailing);
    last.high = (last.high ^ ((upper << trailing) | carried)) >>> 0;
  }
  halves[high] = last.high;
  halves[low] = last.low;
  return double[0] as number;
}

function writeDeltaOfDelta(bits: BitWriter, change: number): void {
  if (change === 0) {
    bits.write(0, 1);
    return;
  }
  for (const [index, width] of deltaOfDeltaBits.entries()) {
    const half = 2 ** (width - 1);
    if (change < -half || change >= half) continue;
    bits.write(2 ** (index + 2) - 2, index + 2);
    bits.write(change + half, width);
    return;
  }
  bits.write(0b1111, 4);
  writeDouble(bits, change);
}

function readDeltaOfDelta(bits: BitReader): number {
  if (bits.read(1) === 0) return 0;
  for (const width of deltaOfDeltaBits) if (bits.read(1) === 0) return bits.read(width) - 2 ** (width - 1);
  return readDouble(bits);
}

function writeDouble(bits: BitWriter, value: number): void {
  double[0] = value;
  const [upper, lower] = [halves[high] as number, halves[low] as number];
  bits.write(upper, 32);
  bits.write(lower, 32);
}

function readDouble(bits: BitReader): number {
  const upper = bits.read(32);
  const lower = bits.read(32);
  halves[high] = upper;
  halves[low] = lower;
  return double[0] as number;
}

const trailingZeros = (value: number): number => 31 - Math.clz32(value & -value);
