// CLOCK (second-chance) eviction: a circular walk over the items clears the access bit of each item that has it set, and evicts
// the others as the bucket's policy says. It approximates least recently used with one bit per item.

import type { BucketType, EvictionPolicy } from '../admin.ts';
import { isEventKey } from '../data/system-events.ts';
import { Bit } from '../memory/layout.ts';
import { PageWalk } from '../memory/page-walk.ts';
import { draftTombstone } from './drafts.ts';
import { emptyPosition } from './item-position.ts';
import { emptyDraft } from './items.ts';
import { isInFlight } from './preconditions.ts';
import type { Residency } from './residency.ts';
import { makesSeqnos } from './serving.ts';
import type { Vbuckets } from './vbuckets.ts';

export interface EvictorOptions {
  type: BucketType;
  policy: EvictionPolicy;
  vbuckets: Vbuckets;
  residency: Residency;
}

export class Evictor {
  /** Values, items or documents evicted since start. */
  evicted = 0;
  private readonly vbuckets: Vbuckets;
  private readonly residency: Residency;
  private readonly walk: PageWalk;
  private evict: ((address: number) => void) | null;
  private readonly skipsValueFreePages: boolean;
  private readonly position = emptyPosition();
  private readonly draft = emptyDraft();
  private readonly result = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };
  /** `evicted` at the end of the last round. */
  private evictedBefore = -1;
  private idleRounds = 0;

  constructor(options: EvictorOptions) {
    this.vbuckets = options.vbuckets;
    this.residency = options.residency;
    this.walk = new PageWalk(options.vbuckets.heap);
    this.evict = this.actionOf(options);
    this.skipsValueFreePages = options.type === 'native' && options.policy === 'valueOnly';
  }

  /** Visits this many items. False when two rounds have evicted nothing. */
  slice(steps: number): boolean {
    const { evict, walk } = this;
    if (evict === null || this.idleRounds >= 2) return false;
    const { rounds } = walk;
    const { heap } = this.vbuckets;
    const visit = (address: number): void => this.visit(address, evict);
    if (!this.skipsValueFreePages) walk.go(steps, visit);
    else {
      walk.go(
        steps,
        visit,
        (page) => this.enters(page),
        (page) => heap.endValueScan(page),
      );
    }
    if (walk.rounds !== rounds) this.noteRound();
    return this.idleRounds < 2;
  }

  /** Changes the policy, and retries what the earlier policy could not evict. */
  follow(type: BucketType, policy: EvictionPolicy): void {
    this.evict = this.actionOf({ type, policy });
    this.retry();
  }

  /** Allows two more rounds, since items may have become evictable. */
  retry(): void {
    this.idleRounds = 0;
  }

  private noteRound(): void {
    this.idleRounds = this.evicted === this.evictedBefore ? this.idleRounds + 1 : 0;
    this.evictedBefore = this.evicted;
  }

  /** Skips pages that hold keys alone: when few values are left in memory, most pages have only keys. */
  private enters(page: number): boolean {
    const { heap } = this.vbuckets;
    if (heap.isValueFree(page)) return false;
    heap.beginValueScan(page);
    return true;
  }

  private visit(address: number, evict: (address: number) => void): void {
    const { items } = this.vbuckets;
    if ((items.state(address) & Bit.used) !== 0) {
      items.clearBits(address, Bit.used);
      this.vbuckets.heap.noteValue(address >>> 16);
    } else if (!isEventKey(items.page(address), items.keyStart(address))) evict(address);
  }

  private actionOf({
    type,
    policy,
  }: Pick<EvictorOptions, 'type' | 'policy'>): ((address: number) => void) | null {
    if (type === 'cache') return (address) => this.discard(address);
    if (policy === 'valueOnly') return (address) => this.dropValue(address);
    if (policy === 'fullEviction') return (address) => this.dropItem(address);
    return policy === 'nruEviction' ? (address) => this.remove(address) : null;
  }

  private dropValue(address: number): void {
    const { residency } = this;
    if (!residency.wouldFreeMemory(address)) return;
    if (residency.isEvictable(address) && residency.dropValue(address)) this.evicted++;
    else this.vbuckets.heap.noteValue(address >>> 16);
  }

  private dropItem(address: number): void {
    if (!this.residency.isEvictable(address)) return;
    this.residency.dropItem(address);
    this.evicted++;
  }

  /**
   * In an active vbucket deletes the document as a client would; a copy gets that deletion from its active. Removes a tombstone without
   * another change: otherwise tombstones alone could fill the memory.
   */
  private remove(address: number): void {
    const { vbuckets, draft } = this;
    const { items, now, columns } = vbuckets;
    if (isInFlight(items, address) || items.isLocked(address, now)) return;
    const isLeftToActive =
      (items.state(address) & Bit.deleted) === 0 && !makesSeqnos(columns, items.vb(address));
    if (isLeftToActive) return;
    vbuckets.locateItem(this.position, address);
    this.evicted++;
    if ((items.state(address) & Bit.deleted) !== 0) {
      this.discardTombstone(address);
      return;
    }
    draftTombstone(draft, items, address, now.seconds);
    vbuckets.write(this.position, draft, this.result);
    items.clearBits(this.position.address, Bit.used);
  }

  private discardTombstone(address: number): void {
    const { position } = this;
    const { items, columns } = this.vbuckets;
    columns.purgeSeqno[position.vb] = Math.max(
      columns.purgeSeqno[position.vb] as number,
      items.seqno(address),
    );
    this.vbuckets.discard(position);
  }

  private discard(address: number): void {
    const { vbuckets } = this;
    if (isInFlight(vbuckets.items, address)) return;
    vbuckets.locateItem(this.position, address);
    vbuckets.discardCounted(this.position);
    this.evicted++;
  }
}
