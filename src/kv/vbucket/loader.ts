// Brings stored items back into memory, from the cuts that disk sends at warm-up.
import { CutBits, type CutItem, CutReader } from '../bucket/cut.ts';
import type { CutBuffer } from '../disk/engine.ts';
import { Bit } from '../memory/layout.ts';
import type { Collections } from './collections.ts';
import { type Draft, emptyDraft } from './items.ts';
import type { Vbuckets } from './vbuckets.ts';

export class Loader {
  /** Documents came of collections that were dropped meanwhile: there is something to sweep. */
  hasGone = false;
  private readonly vbuckets: Vbuckets;
  private readonly collections: Collections;
  private readonly draft: Draft = emptyDraft();

  constructor(vbuckets: Vbuckets, collections: Collections) {
    this.vbuckets = vbuckets;
    this.collections = collections;
  }

  load(batch: CutBuffer): void {
    const reader = new CutReader(batch);
    while (reader.nextCut()) while (reader.nextItem()) this.loadItem(reader.state.vb, reader.item);
  }

  private loadItem(row: number, item: CutItem): void {
    if (this.collections.slotOf(item.buffer, item.keyStart) < 0) {
      if ((item.bits & CutBits.deleted) !== 0) return;
      this.hasGone = true;
    }
    const { vbuckets } = this;
    const hash = vbuckets.hash(item.buffer, item.keyStart, item.keyEnd);
    const address = vbuckets.look(row, hash, item.buffer, item.keyStart, item.keyEnd);
    if (address !== 0 && vbuckets.items.seqno(address) >= item.seqno) return;
    this.fill(item);
    if (!vbuckets.restore(this.draft, item)) throw new RangeError('no memory for the stored documents');
  }

  private fill(item: CutItem): void {
    const { draft } = this;
    draft.key = draft.value = item.buffer;
    draft.keyStart = item.keyStart;
    draft.keyEnd = item.keyEnd;
    draft.valueStart = item.valueStart;
    draft.valueEnd = item.valueEnd;
    draft.datatype = item.datatype;
    draft.flags = item.flags;
    draft.expiry = item.expiry;
    draft.bits =
      ((item.bits & CutBits.deleted) !== 0 ? Bit.deleted : 0) |
      ((item.bits & CutBits.expired) !== 0 ? Bit.expired : 0);
  }
}
