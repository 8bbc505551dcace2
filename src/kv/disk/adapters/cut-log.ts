// The log of cuts beside a data file: what a client waits for is appended here and synced, at a fraction of what a transaction of the
// database costs, and is written into rows later, many commits in one transaction. A frame has the number of its commit; the header of
// the data file says which commits its rows contain, so that a start writes exactly the frames above that number.
//
//   frame: u32 bytes of the cuts, u32 CRC-32 of the rest (seeded with the file's identity), u64 number, cuts
//
// Frames have consecutive numbers. The log begins at the start of the file again once all its frames are in rows; what is left of earlier
// frames behind the new ones has lower numbers. The file keeps its size, so that a sync writes data only.
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { syncPath } from '#ports/sync-path.ts';
import type { DataFileSpec } from './file-format.ts';

export const cutLogSuffix = '-cuts';
export const cutLogBytes = 512 * 1024;
const frameHeaderBytes = 16;

export const cutLogPath = ({ path }: DataFileSpec): string => path + cutLogSuffix;

export class CutLog {
  private readonly descriptor: number;
  private readonly seed: number;
  /** What the file contains up to `end`. */
  private readonly image = Buffer.alloc(cutLogBytes);
  private end = 0;
  /** The cuts of each frame up to `end`. */
  private frames: Uint8Array[] = [];

  /** Creates the file, or overwrites one whose frames are in rows. If that fails, for lack of space for example, no file is left. */
  constructor(spec: DataFileSpec) {
    const path = cutLogPath(spec);
    this.seed = seedOf(spec);
    this.descriptor = openSync(path, 'w', 0o600);
    try {
      writeAll(this.descriptor, this.image, 0, this.image.length);
      fsyncSync(this.descriptor);
      syncPath(dirname(path));
    } catch (error) {
      closeSync(this.descriptor);
      removeCutLog(spec);
      throw error;
    }
  }

  get isEmpty(): boolean {
    return this.end === 0;
  }

  hasRoom(cuts: Uint8Array): boolean {
    return this.end + frameHeaderBytes + cuts.length <= cutLogBytes;
  }

  /** Writes a frame; it is part of the log only after `sync`. */
  write(number: number, cuts: Uint8Array): void {
    const { image, end: at } = this;
    const end = at + frameHeaderBytes + cuts.length;
    image.writeUInt32BE(cuts.length, at);
    image.writeUInt32BE(0, at + 8);
    image.writeUIntBE(number, at + 10, 6);
    image.writeUInt16BE(number / 2 ** 48, at + 8);
    image.set(cuts, at + frameHeaderBytes);
    image.writeUInt32BE(crc32(image.subarray(at + 8, end), this.seed), at + 4);
    writeAll(this.descriptor, image, at, end);
  }

  /** The cuts of the frame written last are on disk afterwards. */
  sync(): void {
    fdatasyncSync(this.descriptor);
    const start = this.end + frameHeaderBytes;
    this.end = start + this.image.readUInt32BE(this.end);
    this.frames.push(this.image.subarray(start, this.end));
  }

  /** The cuts of all frames, oldest first; valid until the next `write`. */
  cuts(): Uint8Array[] {
    return this.frames;
  }

  /** Called when all frames are in rows. */
  clear(): void {
    this.end = 0;
    this.frames = [];
  }

  /** Frees the memory at once: the garbage collector would run late. */
  close(): void {
    closeSync(this.descriptor);
    this.image.buffer.transfer(0);
  }
}

/** Deletes the file of a log whose frames are in rows. */
export const removeCutLog = (spec: DataFileSpec): void => rmSync(cutLogPath(spec), { force: true });

/**
 * The cuts of the frames above a number of commits, oldest first. A torn frame at the end was never acknowledged. Throws when frames
 * before the first one are missing.
 */
export function readCutLog(spec: DataFileSpec, commits: number): Uint8Array[] {
  const path = cutLogPath(spec);
  if (!existsSync(path)) return [];
  const frames = framesIn(readFileSync(path), seedOf(spec)).filter(({ number }) => number > commits);
  const first = frames[0]?.number ?? commits + 1;
  if (first > commits + 1)
    throw new Error(
      `its commits ${commits + 1} to ${first - 1} are missing: its log of cuts begins after them`,
    );
  return frames.map(({ cuts }) => cuts);
}

interface Frame {
  readonly number: number;
  readonly cuts: Uint8Array;
}

function framesIn(bytes: Buffer, seed: number): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + frameHeaderBytes <= bytes.length; ) {
    const end = at + frameHeaderBytes + bytes.readUInt32BE(at);
    const number = Number(bytes.readBigUInt64BE(at + 8));
    const last = frames.at(-1);
    if (end > bytes.length || (last !== undefined && number !== last.number + 1)) break;
    if (bytes.readUInt32BE(at + 4) !== crc32(bytes.subarray(at + 8, end), seed)) break;
    frames.push({ number, cuts: bytes.subarray(at + frameHeaderBytes, end) });
    at = end;
  }
  return frames;
}

/** The seed of the checksums: frames of another bucket, incarnation or generation do not match. */
const seedOf = ({ bucketUuid, incarnation, file, generation }: DataFileSpec): number =>
  crc32(`${bucketUuid} ${incarnation} ${file} ${generation}`);

function writeAll(descriptor: number, bytes: Buffer, from: number, to: number): void {
  for (let at = from; at < to; ) at += writeSync(descriptor, bytes, at, to - at, at);
}
