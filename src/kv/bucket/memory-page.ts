// A page of a vbucket's changes made from memory at one instant. Large documents stay where they are, since their memory does not change.
import { freeBuffer } from '#base/free-buffer.ts';
import { type CutItem, CutWriter, stateOfVbucket } from '../data/cut.ts';
import type { BackfillPage } from '../data/disk-engine.ts';
import { ownMemoryBytes } from '../data/documents.ts';

/**
 * A page shows the vbucket at one instant, so it is made in one piece: in at most about a millisecond. `copy`: the disk of a copy writes
 * many changes of one vbucket with less work than a few of many.
 */
const pageTargetBytes = { stream: 128 * 1024, copy: 512 * 1024 } as const;

export interface MemoryPageOptions {
  /** The page is for a copy: it is sent as it is, so it contains large documents too. */
  isForCopy?: boolean;
  /** The size of the page, where it is smaller than usual. */
  targetBytes?: number | undefined;
}

export class MemoryPage {
  private readonly vb: number;
  private readonly isForCopy: boolean;
  private readonly targetBytes: number;
  private readonly writer: CutWriter;
  private readonly inPlace = new Map<number, CutItem>();
  private inPlaceBytes = 0;

  constructor(vb: number, { isForCopy = false, targetBytes }: MemoryPageOptions = {}) {
    this.vb = vb;
    this.isForCopy = isForCopy;
    const targetBytesMax = pageTargetBytes[isForCopy ? 'copy' : 'stream'];
    this.targetBytes = Math.min(targetBytes ?? targetBytesMax, targetBytesMax);
    this.writer = new CutWriter(isForCopy ? (this.targetBytes * 9) / 8 : 0);
    this.writer.begin(0);
  }

  get isFull(): boolean {
    return this.writer.bytes + this.inPlaceBytes >= this.targetBytes;
  }

  /** Adds a change with a later seqno than the one before. Removes the value from the item if the page only refers to the value's memory. */
  add(item: CutItem): void {
    const valueBytes = item.valueEnd - item.valueStart;
    if (valueBytes >= ownMemoryBytes && !this.isForCopy) {
      this.inPlace.set(item.seqno, { ...item });
      this.inPlaceBytes += valueBytes;
      item.valueEnd = item.valueStart;
    }
    this.writer.item(item);
  }

  /** Call once, after the last change. */
  finish(ends: Pick<BackfillPage, 'toSeqno' | 'endSeqno' | 'purgeSeqno'>): BackfillPage {
    this.writer.finish(stateOfVbucket(this.vb));
    // A page for a copy stays in this thread, so that its memory may be a little larger than the page.
    const staysInPlace = this.isForCopy && this.writer.bytes * 2 >= this.targetBytes;
    const batch = staysInPlace ? this.writer.written() : this.writer.takeAll();
    return { batch, inPlace: this.inPlace, ...ends, free: () => freeBuffer(batch) };
  }
}
