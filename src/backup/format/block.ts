// Blocks: compressed frames of one vbucket. A header of 68 bytes, integers big-endian, then the stored bytes:
//   0 "DVB1"                      4 u16 vbucket               6 u16 flags (1: the last block of its vbucket, 2: encrypted)
//   8 u32 frames                 12 u32 bytes of the frames  16 u32 stored bytes
//  20 u64 offset of the block before it of the same vbucket, 0: none
//  28 u64 its own offset         36 SHA-256 of backup id, bucket number (u32), header up to here, stored bytes
// The hash covers the offset of the block, so that a block that was moved or comes from another backup is detected.
import { createHash } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { freeBuffer } from '#base/free-buffer.ts';
import { BackupError } from './backup-error.ts';
import { frameHeaderBytes, frameKeyBytesMax, frameValueBytesMax } from './frame.ts';

export const blockHeaderBytes = 68;
/** A block is written once it has this many bytes of frames. */
export const blockBytes = 1 << 20;
/** The value of the frame that ends a vbucket: its failover log, and a count for each of at most 1,200 collections. */
const endRecordBytesMax = 1 << 16;
/** Frames of less than `blockBytes`, one document of the largest size, and the frame that ends a vbucket. */
const plainBytesMax =
  blockBytes + frameValueBytesMax + endRecordBytesMax + 2 * (frameHeaderBytes + frameKeyBytesMax);
/** Incompressible bytes grow by less than 1 MiB. */
const storedBytesMax = plainBytesMax + (1 << 20);

const magic = 0x44564231;
const hashOffset = 36;
const lastFlag = 1;
const encryptedFlag = 2;
/** The nonce of 12 bytes before the encrypted bytes of a block, and the tag of 16 bytes after them. */
export const sealBytes = 28;
/** The fastest level. */
const zstdLevel = 1;

/** What the hash of each block covers besides the block. */
export interface BlockOwner {
  /** 16 bytes. */
  readonly backup: Buffer;
  /** The number of the bucket in the backup. */
  readonly bucket: number;
  /** Null for blocks that are not encrypted. */
  readonly cipher: BlockCipher | null;
}

/** Encrypts and decrypts blocks; `associatedData` is authenticated with them and not encrypted. */
export interface BlockCipher {
  seal(associatedData: Buffer, plain: Buffer): Buffer;
  /** Null if the bytes were changed. */
  open(associatedData: Buffer, sealed: Buffer): Buffer | null;
}

export interface BlockHeader {
  readonly vb: number;
  readonly isLast: boolean;
  readonly isEncrypted: boolean;
  readonly frames: number;
  readonly plainBytes: number;
  readonly storedBytes: number;
  /** Offset of the previous block of the vbucket, 0: none. */
  readonly previous: number;
  readonly offset: number;
}

export type NewBlock = Pick<BlockHeader, 'vb' | 'isLast' | 'frames' | 'previous' | 'offset'>;

/** Compresses frames; the result is header and stored bytes, whose memory the caller frees. */
export function encodeDataBlock(owner: BlockOwner, block: NewBlock, frames: Buffer): [Buffer, Buffer] {
  const { cipher } = owner;
  const compressed = zstdCompressSync(frames, {
    params: { [constants.ZSTD_c_compressionLevel]: zstdLevel },
    chunkSize: chunkSizeFor(frames.length),
  });
  const header = Buffer.alloc(blockHeaderBytes);
  header.writeUInt32BE(magic, 0);
  header.writeUInt16BE(block.vb, 4);
  header.writeUInt16BE((block.isLast ? lastFlag : 0) | (cipher === null ? 0 : encryptedFlag), 6);
  header.writeUInt32BE(block.frames, 8);
  header.writeUInt32BE(frames.length, 12);
  header.writeUInt32BE(compressed.length + (cipher === null ? 0 : sealBytes), 16);
  header.writeBigUInt64BE(BigInt(block.previous), 20);
  header.writeBigUInt64BE(BigInt(block.offset), 28);
  const stored = cipher === null ? compressed : cipher.seal(identityOf(owner, header), compressed);
  if (stored !== compressed) freeBuffer(compressed);
  hashOf(owner, header, stored).copy(header, hashOffset);
  return [header, stored];
}

/** @throws BackupError for what is not the header of a block at this offset */
export function readBlockHeader(header: Buffer, offset: number): BlockHeader {
  if (header.length < blockHeaderBytes) throw damaged(offset, 'its header is cut off');
  if (header.readUInt32BE(0) !== magic) throw damaged(offset, 'there is no block');
  const block: BlockHeader = {
    vb: header.readUInt16BE(4),
    isLast: (header.readUInt16BE(6) & lastFlag) !== 0,
    isEncrypted: (header.readUInt16BE(6) & encryptedFlag) !== 0,
    frames: header.readUInt32BE(8),
    plainBytes: header.readUInt32BE(12),
    storedBytes: header.readUInt32BE(16),
    previous: Number(header.readBigUInt64BE(20)),
    offset: Number(header.readBigUInt64BE(28)),
  };
  if (block.offset !== offset) throw damaged(offset, `it was written at offset ${block.offset}`);
  if (block.previous >= offset) throw damaged(offset, `the block before it is at offset ${block.previous}`);
  if (block.plainBytes > plainBytesMax || block.storedBytes > storedBytesMax)
    throw damaged(offset, `it claims ${block.storedBytes} bytes, ${block.plainBytes} decompressed`);
  return block;
}

/** Compares the hash. @throws BackupError */
export function checkBlock(owner: BlockOwner, header: Buffer, stored: Buffer, offset: number): void {
  if (!hashOf(owner, header, stored).equals(header.subarray(hashOffset, blockHeaderBytes)))
    throw damaged(offset, 'its hash differs: its bytes were changed, or it belongs to another backup');
}

/** The compressed frames of a checked block. @throws BackupError */
export function decryptBlock(
  owner: BlockOwner,
  { isEncrypted, offset }: BlockHeader,
  header: Buffer,
  stored: Buffer,
): Buffer {
  if (isEncrypted !== (owner.cipher !== null))
    throw damaged(offset, `it is ${isEncrypted ? '' : 'not '}encrypted, unlike its repository`);
  if (owner.cipher === null) return stored;
  const compressed = owner.cipher.open(identityOf(owner, header), stored);
  if (compressed === null)
    throw damaged(offset, 'it was changed by somebody who does not have the passphrase');
  return compressed;
}

/** The frames of a checked block, whose memory the caller frees; never more bytes than the header states. @throws BackupError */
export function unpackBlock({ plainBytes, offset }: BlockHeader, stored: Buffer): Buffer {
  let plain: Buffer;
  try {
    plain = zstdDecompressSync(stored, {
      maxOutputLength: Math.max(1, plainBytes),
      chunkSize: chunkSizeFor(plainBytes),
    });
  } catch (error) {
    throw damaged(offset, `it cannot be decompressed: ${(error as Error).message}`);
  }
  if (plain.length !== plainBytes)
    throw damaged(offset, `it has ${plain.length} bytes decompressed instead of ${plainBytes}`);
  return plain;
}

/**
 * Room for the whole result, so that zlib returns it in one buffer. With its default of 16 KiB, copying the buffers and collecting them as
 * garbage take two fifths of the time of decompression.
 */
const chunkSizeFor = (bytes: number): number => bytes + (1 << 10);

const hashOf = (owner: BlockOwner, header: Buffer, stored: Buffer): Buffer =>
  createHash('sha256').update(identityOf(owner, header)).update(stored).digest();

/** The bytes that identify a block: backup, bucket number, and the header up to the hash. */
function identityOf({ backup, bucket }: BlockOwner, header: Buffer): Buffer {
  const number = Buffer.alloc(4);
  number.writeUInt32BE(bucket);
  return Buffer.concat([backup, number, header.subarray(0, hashOffset)]);
}

const damaged = (offset: number, problem: string): BackupError =>
  new BackupError(`the block at offset ${offset} is damaged: ${problem}`);
