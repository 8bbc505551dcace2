// What a request for a document needs from disk: notes what the request did not find in memory, starts the read, and provides the document that
// was read when the request runs again, since memory may have had no room for the document or have evicted it by then. Only requests
// that read use a provided document, and only where memory has no version of its own.
import { Status } from '#wire/status.ts';
import { type CutItem, isDeleted, isExpired } from '../../data/cut.ts';
import {
  type DocumentResult,
  type FetchedDocument,
  type ItemView,
  notResident,
  type StoredDocument,
  type WhenFetched,
} from '../../data/documents.ts';
import type { ItemPosition } from '../../vbucket/item-position.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import type { FetchRequest } from './background-fetches.ts';

/** Loads a document into memory, or reads it without loading it. */
export interface DiskReads {
  load(request: FetchRequest, done: WhenFetched): void;
  read(request: FetchRequest, done: WhenFetched): void;
}

export class FetchedDocuments {
  private readonly vbuckets: Vbuckets;
  /** Null in buckets without a disk. */
  private readonly reads: DiskReads | null;
  /** The document that the last `prepareFetch` noted. */
  private wanted: FetchRequest = { vb: 0, key: Buffer.alloc(0), seqno: 0, clears: 0 };
  private provided: FetchedDocument | null = null;

  constructor(vbuckets: Vbuckets, reads: DiskReads | null) {
    this.vbuckets = vbuckets;
    this.reads = reads;
  }

  /** Notes which document `load` or `read` will read: the key at `position`, or its value, is not in memory. */
  prepareFetch(position: ItemPosition, key: Buffer, keyStart: number, keyEnd: number): DocumentResult {
    const { columns, items } = this.vbuckets;
    const { address, vb } = position;
    // 0: the whole item is on disk only.
    const seqno = address === 0 ? 0 : items.seqno(address);
    const clears = columns.clears[vb] as number;
    this.wanted = { vb, key: Buffer.from(key.subarray(keyStart, keyEnd)), seqno, clears };
    return notResident;
  }

  /** Reads the wanted document and loads it into memory. */
  load(done: WhenFetched): void {
    this.reads?.load(this.wanted, done);
  }

  /** Reads the wanted document without loading it into memory. */
  read(done: (found: StoredDocument | null | Status) => void): void {
    const { now } = this.vbuckets;
    this.reads?.read(this.wanted, (fetched) => {
      if (typeof fetched === 'number') done(fetched);
      else {
        const { item } = fetched;
        done(item === null || isDeleted(item) || isExpired(item, now.seconds) ? null : item);
      }
    });
  }

  provideFetched(fetched: FetchedDocument | null): void {
    this.provided = fetched;
  }

  /** Shows the wanted document, which is not in memory; `notResident` unless it was provided. */
  show(view: ItemView): DocumentResult {
    const provided = this.providedDocument();
    if (provided === null) return notResident;
    if (provided.item === null || isExpired(provided.item, this.vbuckets.now.seconds))
      return Status.keyNotFound;
    showItem(provided.item, view);
    return Status.success;
  }

  /** Shows the item at `position` with the value of the wanted document; `notResident` unless it was provided. */
  showWithValue({ address }: ItemPosition, view: ItemView): DocumentResult {
    const item = this.providedVersion();
    if (item === null) return notResident;
    this.vbuckets.show(address, view);
    showParts(item, view);
    return Status.success;
  }

  /** Whether the wanted version was provided. */
  hasVersion(): boolean {
    return this.providedVersion() !== null;
  }

  private providedVersion(): CutItem | null {
    const item = this.providedDocument()?.item ?? null;
    return item?.seqno === this.wanted.seqno ? item : null;
  }

  /** The provided document, if it is the wanted one. */
  private providedDocument(): FetchedDocument | null {
    const { wanted, provided } = this;
    return provided !== null && provided.vb === wanted.vb && provided.key.equals(wanted.key)
      ? provided
      : null;
  }
}

function showParts(item: CutItem, view: ItemView): void {
  view.buffer = item.buffer;
  view.keyStart = item.keyStart;
  view.keyEnd = item.keyEnd;
  view.valueStart = item.valueStart;
  view.valueEnd = item.valueEnd;
  // Memory may have had the value compressed.
  view.datatype = item.datatype;
}

function showItem(item: CutItem, view: ItemView): void {
  showParts(item, view);
  view.flags = item.flags;
  view.expiry = item.expiry;
  view.casHi = item.casHi;
  view.casLo = item.casLo;
  view.seqno = item.seqno;
  view.rev = item.rev;
  view.isDeleted = isDeleted(item);
  view.isLocked = false;
}
