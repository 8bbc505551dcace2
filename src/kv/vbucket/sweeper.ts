// Removes the items of dropped collections, a slice of the indexes at a time. In buckets with a disk it first turns them into empty
// tombstones, so that the disk frees their values too, and removes them from memory once the tombstones are written. It skips
// vbuckets that are active on another node: these receive the tombstones from there. After a failed write of the disk the tombstones stay in
// memory, since copies need them. In buckets without a disk there are no tombstones, and each node removes what it has, also in its copies.

import { isEventKey } from '../data/system-events.ts';
import { slotWords } from '../memory/key-index.ts';
import { Bit } from '../memory/layout.ts';
import { draftStoredTombstone, draftTombstone } from './drafts.ts';
import { emptyPosition } from './item-position.ts';
import { emptyDraft } from './items.ts';
import type { LiveCollections } from './live-collections.ts';
import { isInFlight } from './preconditions.ts';
import { makesSeqnos } from './serving.ts';
import type { Vbuckets } from './vbuckets.ts';

export interface SweeperOptions {
  vbuckets: Vbuckets;
  collections: LiveCollections;
  /** Whether the bucket has a disk. */
  hasDisk: boolean;
  /** Whether the bucket has a disk that works now. */
  isPersistent: () => boolean;
  onDirty: (vb: number) => void;
}

export class Sweeper {
  private readonly options: SweeperOptions;
  private readonly position = emptyPosition();
  private readonly draft = emptyDraft();
  private readonly result = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };
  private vb = 0;
  private slot = 0;
  /** Length of the vbucket's hash table when the walk entered it: if it has grown, the vbucket is walked again. */
  private end = 0;
  /** Some item of the vbucket could not be freed yet. */
  private hasSkipped = false;
  /** 1: the walk goes through this vbucket. */
  private readonly wanted: Uint8Array;

  constructor(options: SweeperOptions) {
    this.options = options;
    this.wanted = new Uint8Array(options.vbuckets.columns.count);
  }

  /** Starts over, since collections were dropped: through all vbuckets, or through these and those that are left. */
  begin(vbs?: readonly number[]): void {
    if (vbs === undefined) this.wanted.fill(1);
    else for (const vb of vbs) this.wanted[vb] = 1;
    this.restart();
  }

  /** Walks again through the vbuckets that are left. */
  restart(): void {
    this.enterNext(0);
  }

  /** Visits up to `slots` slots. `again`: the walk is over but some items could not be freed yet. */
  slice(slots: number): 'more' | 'again' | 'done' {
    for (let left = slots; left > 0; left--) {
      if (this.vb === this.wanted.length) return this.wanted.includes(1) ? 'again' : 'done';
      this.step();
    }
    return 'more';
  }

  private enter(vb: number): void {
    this.vb = vb;
    this.slot = 0;
    this.hasSkipped = false;
    this.end = vb < this.wanted.length ? this.options.vbuckets.index.end(vb) : 0;
  }

  private enterNext(from: number): void {
    const found = this.wanted.indexOf(1, from);
    this.enter(found < 0 ? this.wanted.length : found);
  }

  private leave(): void {
    if (!this.hasSkipped) this.wanted[this.vb] = 0;
    this.enterNext(this.vb + 1);
  }

  private step(): void {
    const { index } = this.options.vbuckets;
    if (index.continueRehash(this.vb)) return;
    if (index.end(this.vb) !== this.end) this.enter(this.vb);
    else if (this.slot >= this.end) this.leave();
    else this.visit(index.address(this.vb, this.slot));
  }

  private visit(address: number): void {
    if (address === 0 || !this.isGone(address)) this.slot += slotWords;
    else if (isInFlight(this.options.vbuckets.items, address)) this.skip();
    else this.remove(address);
  }

  private isGone(address: number): boolean {
    const { collections, vbuckets } = this.options;
    const page = vbuckets.items.page(address);
    const keyStart = vbuckets.items.keyStart(address);
    return !isEventKey(page, keyStart) && collections.isGone(page, keyStart, this.vb);
  }

  private remove(address: number): void {
    const { hasDisk, vbuckets } = this.options;
    const { vb, slot } = this;
    this.position.vb = vb;
    this.position.slot = slot;
    this.position.address = address;
    const state = vbuckets.items.state(address);
    const isWritten = (state & Bit.deleted) !== 0 && this.isOnDisk(address, state);
    // Removal shifts a later entry into this slot, so the walk does not advance.
    if (isWritten || !hasDisk) vbuckets.discard(this.position);
    else if (!makesSeqnos(vbuckets.columns, vb)) this.slot += slotWords;
    else this.makeTombstone(address, state);
  }

  /**
   * Makes a tombstone of a live document that is only on disk. False when there is no memory for it now. The tombstone stays in
   * memory until it is written, so that a second call for the document finds it and does not count it again.
   */
  deleteStored(vb: number, key: Buffer): boolean {
    const { vbuckets, isPersistent, onDirty } = this.options;
    if (!makesSeqnos(vbuckets.columns, vb)) return true;
    const address = vbuckets.locate(this.position, vb, vbuckets.hash(key, 0, key.length), key, 0, key.length);
    // The walk through memory removes a document that was loaded again.
    if (address !== 0) return true;
    draftStoredTombstone(this.draft, key, vbuckets.now.seconds);
    // While the disk takes nothing, no memory may become free.
    if (!vbuckets.write(this.position, this.draft, this.result)) return !isPersistent();
    (vbuckets.columns.items[vb] as number) -= 1;
    (vbuckets.columns.nonResidentItems[vb] as number) -= 1;
    onDirty(vb);
    return true;
  }

  /** Whether this node sweeps the vbucket: it does not sweep copies, which receive the tombstones from their active. */
  sweeps(vb: number): boolean {
    return makesSeqnos(this.options.vbuckets.columns, vb);
  }

  private isOnDisk(address: number, state: number): boolean {
    const { items, columns } = this.options.vbuckets;
    return (state & Bit.dirty) === 0 && items.seqno(address) <= (columns.persistedSeqno[this.vb] as number);
  }

  private makeTombstone(address: number, state: number): void {
    const { vbuckets, isPersistent, onDirty } = this.options;
    const isTombstone = (state & Bit.deleted) !== 0;
    if (isPersistent()) this.skip();
    else if (isTombstone) this.slot += slotWords;
    if (isTombstone) return;
    draftTombstone(this.draft, vbuckets.items, address, vbuckets.now.seconds);
    if (vbuckets.write(this.position, this.draft, this.result)) onDirty(this.position.vb);
    // Without room for the tombstone the copies keep the document until they are active.
    else if (!isPersistent()) vbuckets.discard(this.position);
  }

  private skip(): void {
    this.hasSkipped = true;
    this.slot += slotWords;
  }
}
