// Turns expired documents into tombstones: one that a client accesses, or all that a walk through memory finds.
import { Datatype } from '#wire/status.ts';
import { Bit } from '../memory/layout.ts';
import { PageWalk } from '../memory/page-walk.ts';
import { draftTombstone, keepForTombstone } from './drafts.ts';
import { emptyPosition, type ItemPosition } from './item-position.ts';
import { emptyDraft } from './items.ts';
import { isInFlight } from './preconditions.ts';
import { makesSeqnos } from './serving.ts';
import type { Vbuckets } from './vbuckets.ts';

export class Expirer {
  /** Documents expired since start. */
  expired = 0;
  private readonly vbuckets: Vbuckets;
  private readonly onDirty: (vb: number) => void;
  private readonly walk: PageWalk;
  private readonly position = emptyPosition();
  private readonly draft = emptyDraft();
  private readonly result = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };

  constructor(vbuckets: Vbuckets, onDirty: (vb: number) => void) {
    this.vbuckets = vbuckets;
    this.onDirty = onDirty;
    this.walk = new PageWalk(vbuckets.heap);
  }

  /** Whether a tombstone of the item would keep a part of its value that is on disk only. */
  needsValue(address: number): boolean {
    const { items } = this.vbuckets;
    return (
      (items.state(address) & Bit.valueNonResident) !== 0 && (items.datatype(address) & Datatype.xattr) !== 0
    );
  }

  /**
   * Expires the document at `position`; false when that is not possible now, or when the vbucket is active on another node, which then
   * expires the document.
   */
  expire(position: ItemPosition): boolean {
    const { draft, vbuckets } = this;
    const { items, now } = vbuckets;
    const { address, vb } = position;
    if (isInFlight(items, address) || !makesSeqnos(vbuckets.columns, vb)) return false;
    draftTombstone(draft, items, address, now.seconds);
    keepForTombstone(draft, items, address);
    draft.bits |= Bit.expired;
    if (!vbuckets.write(position, draft, this.result)) return false;
    this.expired++;
    this.onDirty(vb);
    return true;
  }

  /** Begins a walk over all of memory. */
  begin(): void {
    this.walk.restart();
  }

  /** Visits this many items and calls `needsFetch` for those whose value must be read first; false once all were visited. */
  slice(steps: number, needsFetch: (address: number) => void): boolean {
    if (this.walk.rounds > 0) return false;
    this.walk.go(steps, (address) => this.visit(address, needsFetch));
    return this.walk.rounds === 0;
  }

  private visit(address: number, needsFetch: (address: number) => void): void {
    const { items, now, columns } = this.vbuckets;
    if ((items.state(address) & Bit.deleted) !== 0 || !items.isExpired(address, now.seconds)) return;
    if (!makesSeqnos(columns, items.vb(address))) return;
    if (this.needsValue(address)) {
      needsFetch(address);
      return;
    }
    if (isInFlight(items, address)) return;
    this.vbuckets.locateItem(this.position, address);
    this.expire(this.position);
  }
}
