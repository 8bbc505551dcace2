// Frames: the documents inside a block. A fixed header of 44 bytes, integers big-endian, then key and value:
//   0 u32 bytes of the value      4 u16 bytes of the key      6 u8 kind      7 u8 datatype (1 JSON, 4 attributes in front)
//   8 u32 collection id          12 u64 CAS                  20 u64 revision                28 u64 seqno
//  36 u32 flags                  40 u32 expiry, or the time of a deletion
import { freeBuffer } from '#base/free-buffer.ts';
import { readU32, readU64, writeU32, writeU64 } from '#wire/bytes.ts';
import { keyBytesMax } from '#wire/collection-id.ts';
import { Datatype } from '#wire/status.ts';
import { BackupError } from './backup-error.ts';

export const frameHeaderBytes = 44;
/** The longest key of a document. */
export const frameKeyBytesMax = keyBytesMax.inDefault;
/** A body of 20 MiB, its attributes and their lengths. */
export const frameValueBytesMax = 22 << 20;

export const FrameKind = {
  mutation: 0,
  deletion: 1,
  expiration: 2,
  /** The last frame of a vbucket: its seqno is the last one of the vbucket in the backup, its value an `EndRecord` as JSON. */
  end: 3,
} as const;

const kindMax = FrameKind.end;
/** JSON and attributes: values in an archive are not compressed one by one. */
const knownDatatypes = Datatype.json | Datatype.xattr;

/** A document as it goes into a frame. */
export interface FrameContent {
  kind: number;
  datatype: number;
  collectionId: number;
  casHi: number;
  casLo: number;
  rev: number;
  seqno: number;
  flags: number;
  expiry: number;
  key: Uint8Array;
  /** Attributes with their length in front, if the datatype says so, then the body. */
  value: Uint8Array;
}

const initialBytes = 64 << 10;
/** The largest buffer that is kept for the next block: it has room for a block with its last document. */
const keptBytes = (1 << 20) + (64 << 10);

/** Collects the frames of one block in a growing buffer. */
export class FrameBuffer {
  count = 0;
  end = 0;
  private buffer: Buffer = Buffer.allocUnsafeSlow(initialBytes);

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.end);
  }

  add(content: FrameContent): void {
    const { key, value } = content;
    const at = this.end;
    this.reserve(frameHeaderBytes + key.length + value.length);
    const { buffer } = this;
    writeU32(buffer, at, value.length);
    buffer[at + 4] = key.length >> 8;
    buffer[at + 5] = key.length;
    buffer[at + 6] = content.kind;
    buffer[at + 7] = content.datatype;
    writeU32(buffer, at + 8, content.collectionId);
    writeU32(buffer, at + 12, content.casHi);
    writeU32(buffer, at + 16, content.casLo);
    writeU64(buffer, at + 20, content.rev);
    writeU64(buffer, at + 28, content.seqno);
    writeU32(buffer, at + 36, content.flags);
    writeU32(buffer, at + 40, content.expiry);
    buffer.set(key, at + frameHeaderBytes);
    buffer.set(value, at + frameHeaderBytes + key.length);
    this.end = at + frameHeaderBytes + key.length + value.length;
    this.count++;
  }

  clear(): void {
    this.count = 0;
    this.end = 0;
    // The buffer of a large document is not kept.
    if (this.buffer.length > keptBytes) this.replace(initialBytes);
  }

  private reserve(bytes: number): void {
    const needed = this.end + bytes;
    if (needed <= this.buffer.length) return;
    this.replace(Math.max(needed, Math.min(this.buffer.length * 2, keptBytes)));
  }

  private replace(size: number): void {
    const { buffer, end } = this;
    this.buffer = Buffer.allocUnsafeSlow(size);
    buffer.copy(this.buffer, 0, 0, end);
    freeBuffer(buffer);
  }
}

/** The frame at an offset of a block; `move` reads another one into the same object. */
export class Frame implements FrameContent {
  kind = 0;
  datatype = 0;
  collectionId = 0;
  casHi = 0;
  casLo = 0;
  rev = 0;
  seqno = 0;
  flags = 0;
  expiry = 0;
  /** Views of the block. */
  key: Buffer = Buffer.alloc(0);
  value: Buffer = Buffer.alloc(0);

  get isDeletion(): boolean {
    return this.kind === FrameKind.deletion || this.kind === FrameKind.expiration;
  }

  get cas(): bigint {
    return (BigInt(this.casHi) << 32n) | BigInt(this.casLo);
  }

  move(block: Buffer, at: number): void {
    const keyStart = at + frameHeaderBytes;
    const valueStart = keyStart + block.readUInt16BE(at + 4);
    this.kind = block[at + 6] as number;
    this.datatype = block[at + 7] as number;
    this.collectionId = readU32(block, at + 8);
    this.casHi = readU32(block, at + 12);
    this.casLo = readU32(block, at + 16);
    this.rev = readU64(block, at + 20);
    this.seqno = readU64(block, at + 28);
    this.flags = readU32(block, at + 36);
    this.expiry = readU32(block, at + 40);
    this.key = block.subarray(keyStart, valueStart);
    this.value = block.subarray(valueStart, valueStart + readU32(block, at));
  }
}

/** The offsets of all frames of a block. @throws BackupError when they are not `count` whole frames */
export function frameOffsets(block: Buffer, count: number): Uint32Array {
  if (count > block.length / frameHeaderBytes)
    throw new BackupError(`a block of ${block.length} bytes cannot have ${count} frames`);
  const offsets = new Uint32Array(count);
  let at = 0;
  for (let index = 0; index < count; index++) {
    offsets[index] = at;
    at = endOfFrame(block, at);
  }
  if (at !== block.length) throw new BackupError(`a block has bytes after its ${count} frames`);
  return offsets;
}

function endOfFrame(block: Buffer, at: number): number {
  if (block.length - at < frameHeaderBytes) throw new BackupError('a frame is cut off');
  const valueBytes = readU32(block, at);
  const keyBytes = block.readUInt16BE(at + 4);
  const [kind, datatype] = [block[at + 6] as number, block[at + 7] as number];
  if (kind > kindMax || (datatype & ~knownDatatypes) !== 0)
    throw new BackupError(`a frame has the unknown kind ${kind} or datatype ${datatype}`);
  if (keyBytes > frameKeyBytesMax || valueBytes > frameValueBytesMax)
    throw new BackupError(`a frame has a key of ${keyBytes} bytes and a value of ${valueBytes} bytes`);
  const end = at + frameHeaderBytes + keyBytes + valueBytes;
  if (end > block.length) throw new BackupError('a frame is cut off');
  return end;
}
