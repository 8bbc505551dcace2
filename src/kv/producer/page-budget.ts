// How many pages of changes the streams of one connection may read ahead, and how large each is: many small ones while vbuckets are small,
// since a message to the disk's thread and a write to the socket cost more than the rows of one, else few large ones.
import { backfillPageBytes } from '../data/disk-engine.ts';

export const smallPageBytes = 32 * 1024;
const largePagesMax = 4;
/** The limit of all pages together; only documents that are larger than a page exceed it. */
const totalBytes = largePagesMax * backfillPageBytes;
/** After large pages, small ones are used again once this number of consecutive vbuckets would each have fitted in one. */
const smallVbucketsMin = 4;

export class PageBudget {
  private pageCount = 0;
  private heldBytes = 0;
  private isSmall = true;
  private smallVbuckets = 0;

  /** Pages that are being read or sent. */
  get pages(): number {
    return this.pageCount;
  }

  /** How many more pages may be read now. */
  get free(): number {
    const bySize = this.isSmall ? Math.floor((totalBytes - this.heldBytes) / smallPageBytes) : 0;
    return Math.max(0, bySize, largePagesMax - this.pageCount);
  }

  /** The size of another page; 0: none may be read now. */
  reserve(): number {
    if (this.free === 0) return 0;
    const bytes = this.isSmall ? smallPageBytes : backfillPageBytes;
    this.pageCount++;
    this.heldBytes += bytes;
    return bytes;
  }

  /** A page was read. A large document makes it larger than the `taken` bytes; returns the bytes that `giveBack` gets for it later. */
  hold(taken: number, pageBytes: number): number {
    const held = Math.max(taken, pageBytes);
    this.heldBytes += held - taken;
    return held;
  }

  /** The stream has released its page. */
  giveBack(held: number): void {
    this.pageCount--;
    this.heldBytes -= held;
  }

  /** Chooses the size of the next pages by a page that was read; `isWhole`: it held all that was left of its vbucket. */
  count(bytes: number, isWhole: boolean): void {
    const isOfSmall = isWhole && bytes <= smallPageBytes;
    this.smallVbuckets = isOfSmall ? this.smallVbuckets + 1 : 0;
    if (!isOfSmall) this.isSmall = false;
    else if (this.smallVbuckets >= smallVbucketsMin) this.isSmall = true;
  }
}
