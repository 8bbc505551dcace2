// The data file of one bucket in a backup: a header of 32 bytes ("DIVANBAK", u32 version, u32 bucket number, 16 bytes of backup id), then
// blocks. The blocks of a vbucket are linked from the last to the first.
import { closeSync, fstatSync, fsyncSync, ftruncateSync, readSync, writeSync, writevSync } from 'node:fs';
import { freeBuffer } from '#base/free-buffer.ts';
import { BackupError } from '../format/backup-error.ts';
import {
  type BlockHeader,
  type BlockOwner,
  blockHeaderBytes,
  checkBlock,
  decryptBlock,
  encodeDataBlock,
  readBlockHeader,
  unpackBlock,
} from '../format/block.ts';
import { archiveVersion } from '../format/manifest.ts';
import { createRegular, openRegular, reopenRegular } from './archive-file.adapter.ts';

const magic = 'DIVANBAK';
export const fileHeaderBytes = 32;

const fileHeader = ({ backup, bucket }: BlockOwner): Buffer => {
  const header = Buffer.alloc(fileHeaderBytes);
  header.write(magic, 'latin1');
  header.writeUInt32BE(archiveVersion, 8);
  header.writeUInt32BE(bucket, 12);
  backup.copy(header, 16);
  return header;
};

/** Appends blocks. Nothing is durable before `sync`. */
export class DataWriter {
  /** The end of the file. */
  bytes: number;
  private readonly file: number;
  private readonly owner: BlockOwner;

  private constructor(file: number, owner: BlockOwner, bytes: number) {
    this.file = file;
    this.owner = owner;
    this.bytes = bytes;
  }

  static create(path: string, owner: BlockOwner): DataWriter {
    const file = createRegular(path);
    return closedOnError(file, () => {
      const writer = new DataWriter(file, owner, 0);
      writer.write(fileHeader(owner));
      return writer;
    });
  }

  /** Continues after the last whole block; what a killed task wrote after it is cut off. */
  static reopen(path: string, owner: BlockOwner, bytes: number): DataWriter {
    const file = reopenRegular(path);
    return closedOnError(file, () => {
      ftruncateSync(file, bytes);
      return new DataWriter(file, owner, bytes);
    });
  }

  /** Returns the offset of the block. */
  append(block: Pick<BlockHeader, 'vb' | 'isLast' | 'frames' | 'previous'>, frames: Buffer): number {
    const offset = this.bytes;
    const parts = encodeDataBlock(this.owner, { ...block, offset }, frames);
    const bytes = parts[0].length + parts[1].length;
    const written = writevSync(this.file, parts, offset);
    if (written < bytes) this.writeAt(Buffer.concat(parts), offset, written);
    freeBuffer(parts[1]);
    this.bytes += bytes;
    return offset;
  }

  sync(): void {
    fsyncSync(this.file);
  }

  close(): void {
    closeSync(this.file);
  }

  private write(bytes: Buffer): void {
    this.writeAt(bytes, this.bytes, 0);
    this.bytes += bytes.length;
  }

  /** Writes the bytes from `written` on. A system call may write fewer than it is given. */
  private writeAt(bytes: Buffer, offset: number, written: number): void {
    for (let at = written; at < bytes.length; )
      at += writeSync(this.file, bytes, at, bytes.length - at, offset + at);
  }
}

/** A block whose hash was checked. Its memory is freed when it is disposed of. */
export class ReadBlock implements Disposable {
  readonly header: BlockHeader;
  private readonly path: string;
  /** Compressed frames, decrypted. */
  private readonly stored: Buffer;
  private plain: Buffer | null = null;

  constructor(path: string, header: BlockHeader, stored: Buffer) {
    this.path = path;
    this.header = header;
    this.stored = stored;
  }

  /** Valid until the block is disposed of. @throws BackupError */
  frames(): Buffer {
    this.plain ??= withPath(this.path, () => unpackBlock(this.header, this.stored));
    return this.plain;
  }

  [Symbol.dispose](): void {
    freeBuffer(this.stored);
    if (this.plain !== null) freeBuffer(this.plain);
  }
}

export class DataReader implements Disposable {
  readonly path: string;
  readonly bytes: number;
  private readonly file: number;
  private readonly owner: BlockOwner;

  /** @throws BackupError when the file is missing or belongs to another backup */
  constructor(path: string, owner: BlockOwner) {
    this.path = path;
    this.owner = owner;
    this.file = openRegular(path);
    this.bytes = closedOnError(this.file, () => fstatSync(this.file).size);
    closedOnError(this.file, () => this.checkHeader());
  }

  private checkHeader(): void {
    if (!this.read(0, fileHeaderBytes).equals(fileHeader(this.owner)))
      throw new BackupError(`${this.path} is not the data file that its manifest describes`);
  }

  /** Reads the header of a block only. @throws BackupError */
  header(offset: number): BlockHeader {
    return withPath(this.path, () => readBlockHeader(this.read(offset, blockHeaderBytes), offset));
  }

  /** Reads a block and checks its hash. @throws BackupError */
  block(offset: number): ReadBlock {
    return withPath(this.path, () => {
      const start = this.read(offset, blockHeaderBytes);
      const header = readBlockHeader(start, offset);
      const stored = this.read(offset + blockHeaderBytes, header.storedBytes);
      if (stored.length < header.storedBytes)
        throw new BackupError(`the block at offset ${offset} is damaged: it is cut off`);
      checkBlock(this.owner, start, stored, offset);
      const compressed = decryptBlock(this.owner, header, start, stored);
      if (compressed !== stored) freeBuffer(stored);
      return new ReadBlock(this.path, header, compressed);
    });
  }

  [Symbol.dispose](): void {
    closeSync(this.file);
  }

  /** Returns fewer bytes at the end of the file. */
  private read(offset: number, count: number): Buffer {
    const bytes = Buffer.allocUnsafe(Math.min(count, Math.max(0, this.bytes - offset)));
    let filled = 0;
    while (filled < bytes.length) {
      const more = readSync(this.file, bytes, filled, bytes.length - filled, offset + filled);
      if (more === 0) break;
      filled += more;
    }
    return bytes.subarray(0, filled);
  }
}

function closedOnError<T>(file: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function withPath<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    throw new BackupError(`${path}: ${error.message}`);
  }
}

export const nextOffset = ({ offset, storedBytes }: BlockHeader): number =>
  offset + blockHeaderBytes + storedBytes;
