// Releases memory held by sparse pages: moves their items together.
import { PageWalk } from '../memory/page-walk.ts';
import type { Residency } from './residency.ts';
import type { Vbuckets } from './vbuckets.ts';

/** A slice ends after this many bytes, checked every `stepsAtOnce` items. */
const sliceBytes = 2 ** 20;
const stepsAtOnce = 16;

/** Pages with less than the first share alive are emptied; with less than the second if memory is short. */
const sparseShare = 0.75;
const thoroughShare = 15 / 16;

export class Defragmenter {
  moved = 0;
  /** Items of this round that could not be moved: they are not on disk yet. */
  unmovable = 0;
  private readonly vbuckets: Vbuckets;
  private readonly residency: Residency;
  private readonly walk: PageWalk;
  private movedBytes = 0;
  private share = sparseShare;

  constructor(vbuckets: Vbuckets, residency: Residency) {
    this.vbuckets = vbuckets;
    this.residency = residency;
    this.walk = new PageWalk(vbuckets.heap);
  }

  /** Starts again at the first page. */
  begin(isThorough: boolean): void {
    this.walk.restart();
    this.unmovable = 0;
    this.share = isThorough ? thoroughShare : sparseShare;
  }

  /** Visits this many items; false once all pages were visited. */
  slice(steps: number): boolean {
    if (this.walk.rounds > 0) return false;
    this.movedBytes = 0;
    for (let left = steps; left > 0 && this.movedBytes < sliceBytes; left -= stepsAtOnce) {
      this.walk.go(
        Math.min(left, stepsAtOnce),
        (address) => this.move(address),
        (page) => this.empties(page),
      );
    }
    return this.walk.rounds === 0;
  }

  private move(address: number): void {
    const bytes = this.vbuckets.items.bytes(address);
    if (!this.residency.move(address)) {
      this.unmovable++;
      return;
    }
    this.moved++;
    this.movedBytes += bytes;
  }

  /** Whether the items of this page are to be moved: it is being emptied, or is sparse. */
  private empties(page: number): boolean {
    const { heap } = this.vbuckets;
    if (heap.isEvacuated(page)) return true;
    if (!heap.isSparse(page, this.share)) return false;
    heap.evacuate(page);
    return true;
  }
}
