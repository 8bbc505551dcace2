// A circular walk over the pages and their items: the clock hand of eviction, and the walk of the other background tasks that visit
// all items. It may pause anywhere for any time: items that are added or removed, and pages that are released and allocated again, do
// not disturb it.
import type { Heap } from './heap.ts';

export class PageWalk {
  /** Completed rounds. */
  rounds = 0;
  private readonly heap: Heap;
  private page = 1;
  /** The number of the next chunk in the page; a live chunk holds one item. */
  private chunk = 0;

  constructor(heap: Heap) {
    this.heap = heap;
  }

  /** Returns to the first page. */
  restart(): void {
    this.rounds = 0;
    this.page = 1;
    this.chunk = 0;
  }

  /**
   * Takes up to `steps` steps, and ends early at the end of the round. Each visit of an item is a step, and so is the end of each
   * page. A page for which `enters` returns false is skipped in one step; `leaves` is called after the last item of any other.
   */
  go(
    steps: number,
    visit: (address: number) => void,
    enters: (page: number) => boolean = always,
    leaves: (page: number) => void = nothing,
  ): void {
    const { rounds } = this;
    for (let left = steps; left > 0 && this.rounds === rounds; left--) {
      if (this.page >= this.heap.bytes.length || (this.chunk === 0 && !enters(this.page))) {
        this.nextPage();
        continue;
      }
      this.chunk = this.heap.liveChunk(this.page, this.chunk);
      if (this.chunk < 0) {
        leaves(this.page);
        this.nextPage();
      } else visit(this.heap.chunkAddress(this.page, this.chunk++));
    }
  }

  private nextPage(): void {
    this.chunk = 0;
    this.page++;
    if (this.page < this.heap.bytes.length) return;
    this.page = 1;
    this.rounds++;
  }
}

const always = (): boolean => true;
const nothing = (): void => {};
