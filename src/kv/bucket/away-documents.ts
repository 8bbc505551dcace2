// What a call lacks in memory, how the disk is asked for it, and what it said: that is at hand while a frame that waited
// for it runs again, since memory may have had no room for it, or let it go before its turn came. It answers reads only;
// what memory itself knows comes first.
import { Status } from '#wire/status.ts';
import { type CutItem, isDeleted, isExpired } from '../data/cut.ts';
import {
  type FetchedDocument,
  type ItemView,
  notResident,
  type StoredDocument,
  type WhenFetched,
} from '../data/documents.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import type { Lacking } from './background-fetches.ts';

/** Brings what is lacking back into memory, or reads it past memory; null where nothing is on disk only. */
export interface DiskReads {
  add(lacking: Lacking, done: WhenFetched): void;
  read(lacking: Lacking, done: WhenFetched): void;
}

export class AwayDocuments {
  private readonly vbuckets: Vbuckets;
  private readonly reads: DiskReads | null;
  /** What the last call lacked. */
  private lacking: Lacking = { vb: 0, key: Buffer.alloc(0), seqno: 0 };
  private lent: FetchedDocument | null = null;

  constructor(vbuckets: Vbuckets, reads: DiskReads | null) {
    this.vbuckets = vbuckets;
    this.reads = reads;
  }

  /** Notes that the key, looked up just now, or its value is not in memory. */
  lack(key: Buffer, keyStart: number, keyEnd: number): Status {
    const { items, place } = this.vbuckets;
    const seqno = place.address === 0 ? 0 : items.seqno(place.address);
    this.lacking = { vb: place.row, key: Buffer.from(key.subarray(keyStart, keyEnd)), seqno };
    return notResident;
  }

  /** Asks for what the last call lacked. */
  bringBack(done: WhenFetched): void {
    this.reads?.add(this.lacking, done);
  }

  read(done: (found: StoredDocument | null | Status) => void): void {
    const { now } = this.vbuckets;
    this.reads?.read(this.lacking, (fetched) => {
      if (typeof fetched === 'number') done(fetched);
      else {
        const { item } = fetched;
        done(item === null || isDeleted(item) || isExpired(item, now.seconds) ? null : item);
      }
    });
  }

  lend(fetched: FetchedDocument | null): void {
    this.lent = fetched;
  }

  /** Shows the document that was lacking just now, of which memory has nothing; `notResident` unless it is lent. */
  show(view: ItemView): Status {
    const lent = this.lentNow();
    if (lent === null) return notResident;
    if (lent.item === null || isExpired(lent.item, this.vbuckets.now.seconds)) return Status.keyNotFound;
    showItem(lent.item, view);
    return Status.success;
  }

  /** Shows the item at `place` of which the value was lacking just now. */
  showWithValue(view: ItemView): Status {
    const item = this.lentVersion();
    if (item === null) return notResident;
    this.vbuckets.show(this.vbuckets.place.address, view);
    showParts(item, view);
    return Status.success;
  }

  /** Whether the version that was lacking just now is lent. */
  hasVersion(): boolean {
    return this.lentVersion() !== null;
  }

  private lentVersion(): CutItem | null {
    const item = this.lentNow()?.item ?? null;
    return item?.seqno === this.lacking.seqno ? item : null;
  }

  private lentNow(): FetchedDocument | null {
    const { lacking, lent } = this;
    return lent !== null && lent.vb === lacking.vb && lent.key.equals(lacking.key) ? lent : null;
  }
}

function showParts(item: CutItem, view: ItemView): void {
  view.buffer = item.buffer;
  view.keyStart = item.keyStart;
  view.keyEnd = item.keyEnd;
  view.valueStart = item.valueStart;
  view.valueEnd = item.valueEnd;
}

function showItem(item: CutItem, view: ItemView): void {
  showParts(item, view);
  view.datatype = item.datatype;
  view.flags = item.flags;
  view.expiry = item.expiry;
  view.casHi = item.casHi;
  view.casLo = item.casLo;
  view.seqno = item.seqno;
  view.rev = item.rev;
  view.deleted = isDeleted(item);
  view.locked = false;
}
