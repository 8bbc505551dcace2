// Memory in which the cuts of large commits are encoded, and which the writer threads read in place. It is used again for later commits: V8
// would otherwise count each new buffer of some megabytes, and collect all garbage of the data thread many times a second under load.
import { pagedMemory, reportToCollector } from '#base/shared-memory.ts';
import { type CutMemory, ownMemory } from '../data/cut-memory.ts';

/** A batch of the flusher, with the changes by which it may exceed its limit. Pages that were never written to take address space only. */
export const sharedBlockBytes = 4.5 * 1024 * 1024;
/** A file of a bucket has one batch at a time. Where more files are written at the same time, the cuts of the others are in ordinary memory. */
export const sharedBlocksMax = 4;
/** Smaller cuts are handed over as copies, so that their block is free at once. */
const handedOverBytesMin = 128 * 1024;

export class SharedBlocks implements CutMemory {
  private free: SharedArrayBuffer[] = [];
  /** Blocks that exist, free or in use. */
  private count = 0;
  /** Large cuts were encoded since all blocks were given up. Small ones touch only the first pages of a block. */
  private isFilled = false;

  allocate(bytes: number): Buffer {
    const block = bytes <= sharedBlockBytes ? this.takeBlock() : null;
    return block === null ? ownMemory.allocate(bytes) : Buffer.from(block, 0, sharedBlockBytes);
  }

  isHandedOver(buffer: Buffer, bytes: number): boolean {
    if (!isShared(buffer)) return ownMemory.isHandedOver(buffer, bytes);
    const isLarge = bytes >= handedOverBytesMin;
    if (isLarge) this.isFilled = true;
    return isLarge;
  }

  release(buffer: Uint8Array): void {
    if (isShared(buffer)) this.free.push(buffer.buffer);
    else ownMemory.release(buffer);
  }

  /**
   * Gives up the blocks that are free, if large cuts were encoded. Returns whether there were some: the garbage collector frees their memory. The
   * blocks of small cuts stay: a collection, which stops the thread for some ten milliseconds, would free next to nothing.
   */
  dropFree(): boolean {
    const dropped = this.isFilled ? this.free.length : 0;
    if (dropped === 0) return false;
    this.count -= dropped;
    this.free = [];
    this.isFilled = this.count > 0;
    return true;
  }

  private takeBlock(): SharedArrayBuffer | null {
    const free = this.free.pop();
    if (free !== undefined || this.count === sharedBlocksMax) return free ?? null;
    const block = pagedMemory(sharedBlockBytes);
    if (block === null) return null;
    this.count++;
    reportToCollector(block);
    return block;
  }
}

const isShared = (buffer: Uint8Array): buffer is Uint8Array<SharedArrayBuffer> =>
  buffer.buffer instanceof SharedArrayBuffer;
