// Frees the items of dropped collections, a slice of the indexes at a time.
import type { Collections } from './collections.ts';
import { isInFlight } from './preconditions.ts';
import type { Vbuckets } from './vbuckets.ts';

export class Sweeper {
  private readonly vbuckets: Vbuckets;
  private readonly collections: Collections;
  private row = 0;
  private slot = 0;
  /** Length of the row's table when the walk entered it: when it grew, the row is walked again. */
  private end = 0;
  private isWanted = false;
  private hasSkipped = false;

  constructor(vbuckets: Vbuckets, collections: Collections) {
    this.vbuckets = vbuckets;
    this.collections = collections;
  }

  /** Starts over: collections have gone. */
  begin(): void {
    this.isWanted = true;
    this.hasSkipped = false;
    this.enter(0);
  }

  /** Looks at up to `slots` slots; false when all is done. */
  slice(slots: number): boolean {
    for (let left = slots; left > 0 && this.isWanted; left--) this.step();
    return this.isWanted;
  }

  private enter(row: number): void {
    this.row = row;
    this.slot = 0;
    if (row < this.vbuckets.rows.count) this.end = this.vbuckets.index.end(row);
    else if (this.hasSkipped) this.begin();
    else this.isWanted = false;
  }

  private step(): void {
    const { index } = this.vbuckets;
    if (index.end(this.row) !== this.end) this.enter(this.row);
    else if (this.slot >= this.end) this.enter(this.row + 1);
    else this.visit(index.address(this.row, this.slot));
  }

  private visit(address: number): void {
    if (address === 0 || !this.isGone(address)) this.slot += 2;
    else this.forget(address);
  }

  private isGone(address: number): boolean {
    const { items } = this.vbuckets;
    return this.collections.slotOf(items.page(address), items.keyStart(address)) < 0;
  }

  /** Removal shifts a later entry into this slot, so the walk stays. A durable write is left until it has settled. */
  private forget(address: number): void {
    if (isInFlight(this.vbuckets.items, address)) {
      this.hasSkipped = true;
      this.slot += 2;
      return;
    }
    Object.assign(this.vbuckets.place, { row: this.row, slot: this.slot, address });
    this.vbuckets.forget();
  }
}
