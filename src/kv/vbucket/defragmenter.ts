// Gives memory back that is held by pages of which little is alive: their items move together.
import { PageWalk } from '../memory/page-walk.ts';
import type { Residency } from './residency.ts';
import type { Vbuckets } from './vbuckets.ts';

/** A slice ends after so many bytes, looked at from time to time. */
const sliceBytes = 2 ** 20;
const stepsAtOnce = 16;

export class Defragmenter {
  moved = 0;
  private readonly vbuckets: Vbuckets;
  private readonly residency: Residency;
  private readonly walk: PageWalk;
  private movedBytes = 0;

  constructor(vbuckets: Vbuckets, residency: Residency) {
    this.vbuckets = vbuckets;
    this.residency = residency;
    this.walk = new PageWalk(vbuckets.heap);
  }

  /** From the first page again. */
  begin(): void {
    this.walk.restart();
  }

  /** Goes on by so many items; false once all pages have been seen. */
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
    if (!this.residency.move(address)) return;
    this.moved++;
    this.movedBytes += bytes;
  }

  private empties(page: number): boolean {
    const { heap } = this.vbuckets;
    if (heap.isLeaving(page)) return true;
    if (!heap.isSparse(page)) return false;
    heap.leave(page);
    return true;
  }
}
