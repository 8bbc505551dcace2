// One stream: the changes of one vbucket after a seqno, in order, in snapshots. Older changes come in pages, recent ones
// from memory; a stream that falls behind memory returns to pages.
//
// A page, or what memory holds, is the vbucket's state at one instant. When there is more than fits one message batch and the
// vbucket changes meanwhile, the snapshot under way is announced again with a later end, so that the client treats its state as
// consistent only when it is.

import { EndReason, type MarkerVersion, SnapshotFlag } from '#wire/dcp.ts';
import type { Collections } from '../collections/collections.ts';
import type { ChangeSource, Follower } from '../data/change-source.ts';
import { type CutItem, CutReader, emptyCutItem } from '../data/cut.ts';
import { type BackfillPage, backfillPageBytes } from '../data/disk-engine.ts';
import { ownMemoryBytes } from '../data/documents.ts';
import { decodeEvent, isEventKey } from '../data/system-events.ts';
import type { VbucketState } from '../data/vbucket-state.ts';
import { formOf } from './event-forms.ts';
import { type Filter, passes, passesEvent, without } from './filter.ts';
import type { Address, ItemForm, MessageWriter } from './message-writer.ts';

/** The interface of a stream to its connection. */
export interface StreamHost {
  readonly writer: MessageWriter;
  readonly collections: Collections;
  readonly markerVersion: MarkerVersion;
  readonly eventTables: boolean;
  /** The client uses collections, and so understands seqnos without a document. */
  readonly reportsSeqnos: boolean;
  /** Counts the message just written; false when no more may be written now. */
  sent(isDocument: boolean): boolean;
  /** Called when there may be something to send. */
  ready(stream: Stream): void;
  /** The size of the page that the stream may read; 0: none now, and the connection calls the stream when its turn comes. */
  takePageBytes(stream: Stream): number;
  /** Called when the page is no longer in memory, with the bytes that the connection accounted for it. */
  backfillDone(heldBytes: number): void;
  /** The connection's budget for pages: `PageBudget`. */
  readonly pages: {
    hold(taken: number, pageBytes: number): number;
    count(bytes: number, isWhole: boolean): void;
  };
  ended(stream: Stream): void;
  nowMs(): number;
}

export interface StreamOptions {
  /** The changes of the engine that the bucket had when the stream was made: after a restart the bucket has another source. */
  source: ChangeSource;
  address: Address;
  filter: Filter;
  form: ItemForm;
  startSeqno: number;
  endSeqno: number;
  snapStart: number;
  /** The client accepts missing purged tombstones. */
  ignorePurged: boolean;
  /** Sends only what is persisted; then the stream ends. */
  diskOnly: boolean;
  /** The client, which starts from seqno 0, needs no deletions and system events that were made before the stream was opened. */
  documentsOnly: boolean;
}

/** After waiting this long for unresolved durable writes, a stream reads what is persisted. */
const stallMs = 100;

export class Stream implements Follower {
  readonly options: StreamOptions;
  /** Everything up to here was sent, or is not included by the filter. */
  position: number;
  private readonly host: StreamHost;
  /** The vbucket's state; the stream ends when it changes. */
  private readonly state: VbucketState;
  private readonly item: CutItem = emptyCutItem();
  /** Start of the next snapshot, or of the one under way. */
  private snapStart: number;
  /** Announced end of the snapshot under way; 0 when there is none. */
  private announcedEnd = 0;
  /** A snapshot was announced, and not all of it was sent. */
  private isOpen = false;
  private page: BackfillPage | null = null;
  /** The page is from memory (`readRecentPage`). */
  private isRecentPage = false;
  /** The high seqno when the documents of the last page were listed in memory; undefined: it was read from disk. */
  private listedSeqno: number | undefined;
  private reader: CutReader | null = null;
  /** The connection may still send a large value from the memory of the page. */
  private hasAttached = false;
  private isFetching = false;
  /** Size of the page that the stream may read, and the bytes that the connection accounts for it. */
  private pageBytes = 0;
  private heldBytes = 0;
  /** Since when durable writes keep the stream waiting; -1: they do not. */
  private stalledAtMs = -1;
  /** The last seqno that the client knows from a document or another message. */
  private reportedSeqno: number;
  /** Tombstones purged up to here were purged before the client could have missed them. */
  private purgeSeqno: number;
  private isEnded = false;
  /** The scope of a collection that the vbucket has and the node's manifest lacks yet. */
  private readonly newerScopeOf: (collection: number) => number | undefined;
  private endReason: EndReason | null = null;

  constructor(host: StreamHost, options: StreamOptions) {
    this.host = host;
    this.options = options;
    this.state = options.source.stateOf(options.address.vb);
    this.position = this.reportedSeqno = options.startSeqno;
    this.snapStart = options.snapStart;
    this.purgeSeqno = options.source.purgeSeqno(options.address.vb);
    const { address, source } = options;
    this.newerScopeOf = (collection) =>
      source.events.newerScopeOf(address.vb, collection, Number.parseInt(host.collections.uid, 16));
  }

  changed(): void {
    this.host.ready(this);
  }

  /** Starts to follow the vbucket. */
  start(): void {
    this.options.source.follow(this.options.address.vb, this);
    this.host.ready(this);
  }

  /** Seqnos not sent yet. */
  get remaining(): number {
    const end = Math.min(this.options.source.highSeqno(this.options.address.vb), this.options.endSeqno);
    return Math.max(0, end - this.position);
  }

  get isBackfilling(): boolean {
    return this.page !== null || this.isFetching;
  }

  /** Sends what can be sent; false when there is nothing more to do for now. */
  step(): boolean {
    if (this.isEnded) return false;
    if (this.endReason !== null) return this.end(this.endReason);
    if (this.isFetching) return false;
    if (this.options.source.stateOf(this.options.address.vb) !== this.state)
      return this.end(EndReason.stateChanged);
    if (this.position >= this.options.endSeqno) return this.end(EndReason.finished);
    if (this.page !== null) return this.sendPage(this.page);
    if (this.options.diskOnly) return this.beginBackfill();
    const { source, address } = this.options;
    const { vb } = address;
    if (this.position >= source.safeSeqno(vb)) return false;
    return source.hasRecent(vb, this.position) ? this.sendRecent() : this.beginBackfill();
  }

  /** Sends the client the stream's position when the filter left out the changes before it. */
  sendPosition(): void {
    const isBusy = this.isEnded || this.isOpen || this.page !== null;
    if (isBusy || this.position <= this.reportedSeqno || !this.host.reportsSeqnos) return;
    this.announce(this.position);
    this.closeSnapshot(this.position);
  }

  /** Ends the stream when the next message can be sent. */
  endSoon(reason: EndReason): void {
    this.endReason ??= reason;
    this.host.ready(this);
  }

  /** Ends the stream with a message at once. */
  endNow(reason: EndReason): void {
    if (!this.isEnded) this.end(reason);
  }

  /** Drops pages read ahead, since the client accepts nothing; they are read again when it does. */
  dropReadAhead(): void {
    if (this.page === null) return;
    this.dropPage();
    this.host.ready(this);
  }

  /** Ends the stream without a message. */
  close(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.dropPage();
    this.options.source.unfollow(this.options.address.vb, this);
    this.host.ended(this);
  }

  private end(reason: EndReason): false {
    this.host.writer.end(this.options.address, reason);
    this.host.sent(false);
    this.close();
    return false;
  }

  private sendRecent(): boolean {
    const { source, address, endSeqno } = this.options;
    const end = source.recentEnd(address.vb, this.position);
    if (end === this.position) return this.readRecentPage() || this.stall();
    this.stalledAtMs = -1;
    const last = Math.min(end, endSeqno);
    for (;;) {
      const seqno = source.readNext(address.vb, this.position, last, this.item);
      if (seqno < 0) return this.beginBackfill();
      if (seqno === 0) break;
      this.position = seqno;
      if (!this.sendItem(this.item, end)) return true;
    }
    this.position = last;
    if (last === end) this.closeSnapshot(end);
    return true;
  }

  private sendPage(page: BackfillPage): boolean {
    // The rows were read before their durable writes were resolved here, or before the copies had received them.
    if (page.endSeqno > this.options.source.safeSeqno(this.options.address.vb)) return false;
    const reader = (this.reader ??= openPage(page));
    while (reader.nextItem()) {
      if (reader.item.seqno > this.options.endSeqno) return this.finishPage(page, this.options.endSeqno);
      this.position = reader.item.seqno;
      const item = page.inPlace?.get(this.position) ?? reader.item;
      this.hasAttached ||= item.valueEnd - item.valueStart >= ownMemoryBytes;
      if (!this.sendItem(item, page.endSeqno)) return true;
    }
    this.finishPage(page, Math.min(page.toSeqno, this.options.endSeqno));
    if (this.position >= page.endSeqno) this.closeSnapshot(page.endSeqno);
    const isLastPage = page.toSeqno === page.endSeqno;
    return isLastPage && this.options.diskOnly ? this.end(EndReason.finished) : true;
  }

  /** Called when all of the page that the stream needs was sent. */
  private finishPage(page: BackfillPage, toSeqno: number): true {
    this.position = Math.max(this.position, toSeqno);
    const hasMore = page.toSeqno < page.endSeqno && this.position < this.options.endSeqno;
    if (hasMore && this.pageBytes >= backfillPageBytes) this.readNextPage();
    else this.dropPage();
    return true;
  }

  /** Continues with this vbucket before others: the disk still caches the pages that it has just read. */
  private readNextPage(): void {
    this.freePage();
    void this.readPage(this.options.address.vb);
  }

  /** Sends an item if the filter includes it; false when no more may be sent now. */
  private sendItem(item: CutItem, snapshotEnd: number): boolean {
    const { host, options } = this;
    if (isEventKey(item.buffer, item.keyStart)) return this.sendEvent(item, snapshotEnd);
    if (!passes(options.filter, host.collections, item.buffer, item.keyStart, this.newerScopeOf)) return true;
    this.announce(snapshotEnd);
    host.writer.item(options.address, item, options.form);
    this.reportedSeqno = item.seqno;
    return host.sent(true);
  }

  /** Sends an event if the filter includes it. Ends the stream and returns false if the event drops the last collection of the filter. */
  private sendEvent(item: CutItem, snapshotEnd: number): boolean {
    const { host, options } = this;
    const event = decodeEvent(item.buffer, item.valueStart, item.valueEnd);
    const form = passesEvent(options.filter, event) ? formOf(event, host.eventTables) : null;
    let hasRoom = true;
    if (form !== null) {
      this.announce(snapshotEnd);
      host.writer.event(options.address, item.seqno, event.kind, form);
      this.reportedSeqno = item.seqno;
      hasRoom = host.sent(true);
    }
    const left = without(options.filter, event);
    if (left === null) this.endReason ??= EndReason.filterEmpty;
    else options.filter = left;
    return hasRoom && left !== null;
  }

  /** Announces how far the snapshot reaches, unless that was announced. */
  private announce(end: number): void {
    if (this.isOpen && end <= this.announcedEnd) return;
    const { host, snapStart } = this;
    const { address, source } = this.options;
    const flag = this.page === null || this.isRecentPage ? SnapshotFlag.memory : SnapshotFlag.disk;
    const flags = this.isOpen ? flag : flag | SnapshotFlag.checkpoint;
    const purge = source.purgeSeqno(address.vb);
    host.writer.marker(address, { start: snapStart, end, flags, version: host.markerVersion, purge });
    host.sent(false);
    this.isOpen = true;
    this.announcedEnd = end;
  }

  /** Everything up to `end` was sent. When that is all that was announced, the client's state is consistent. */
  private closeSnapshot(end: number): void {
    if (!this.isOpen || end < this.announcedEnd) return;
    this.isOpen = false;
    this.snapStart = end + 1;
    if (this.reportedSeqno >= end || !this.host.reportsSeqnos) return;
    this.host.writer.seqnoAdvanced(this.options.address, end);
    this.host.sent(false);
    this.reportedSeqno = end;
  }

  /**
   * Later writes, which copies have not received, have replaced what a snapshot would need. With a key that is always written this situation
   * never ends, so the stream takes the changes as they are now, and sends them once the copies have them.
   */
  private readRecentPage(): boolean {
    const { host } = this;
    const { source, address } = this.options;
    const { vb } = address;
    if (source.safeSeqno(vb) === source.visibleSeqno(vb)) return false;
    this.pageBytes = this.heldBytes = host.takePageBytes(this);
    if (this.pageBytes === 0) return false;
    this.page = source.recentPage(vb, this.position, this.pageBytes);
    if (this.page === null) {
      host.backfillDone(this.heldBytes);
      return false;
    }
    this.heldBytes = host.pages.hold(this.heldBytes, this.page.batch.length);
    this.isRecentPage = true;
    this.stalledAtMs = -1;
    return true;
  }

  /** Waits for durable writes to be resolved; after `stallMs` reads persisted changes, which can always be read. */
  private stall(): boolean {
    const nowMs = this.host.nowMs();
    if (this.stalledAtMs < 0) this.stalledAtMs = nowMs;
    return nowMs - this.stalledAtMs < stallMs ? false : this.beginBackfill();
  }

  private beginBackfill(): false {
    const { host } = this;
    const { source, diskOnly, address } = this.options;
    const { vb } = address;
    if (!diskOnly && source.storedSeqno(vb) <= this.position) return false;
    this.pageBytes = this.heldBytes = host.takePageBytes(this);
    if (this.pageBytes > 0) void this.readPage(vb);
    return false;
  }

  private freePage(): void {
    if (!this.hasAttached) this.page?.free?.();
    this.page = null;
    this.reader = null;
    this.hasAttached = false;
  }

  private async readPage(vb: number): Promise<void> {
    this.isFetching = true;
    try {
      const { position, listedSeqno, pageBytes } = this;
      const { source, documentsOnly } = this.options;
      const page = documentsOnly
        ? await source.documents(vb, position, listedSeqno, pageBytes)
        : await source.backfill(vb, position, pageBytes);
      this.listedSeqno = page.listedSeqno;
      this.receivePage(page);
    } catch {
      // The bucket reports why the file cannot be read; the client gets no reason.
      this.host.backfillDone(this.heldBytes);
      this.endSoon(EndReason.backfillFailed);
    } finally {
      this.isFetching = false;
    }
  }

  private receivePage(page: BackfillPage): void {
    const { pages } = this.host;
    pages.count(page.batch.length, page.toSeqno === page.endSeqno);
    this.heldBytes = pages.hold(this.heldBytes, page.batch.length);
    if (this.isEnded) {
      page.free?.();
      this.host.backfillDone(this.heldBytes);
      return;
    }
    this.page = page;
    this.isRecentPage = false;
    if (this.missesTombstones(page)) this.endSoon(EndReason.rollback);
    else this.host.ready(this);
  }

  /** Tombstones after the client's seqno were purged before they could be sent. */
  private missesTombstones({ purgeSeqno }: BackfillPage): boolean {
    const hasRisen = purgeSeqno > this.purgeSeqno;
    this.purgeSeqno = Math.max(this.purgeSeqno, purgeSeqno);
    // A client that starts from zero misses none; purges before the stream began were checked when it was opened.
    return hasRisen && !this.options.ignorePurged && this.position > 0 && this.position < purgeSeqno;
  }

  private dropPage(): void {
    if (this.page === null) return;
    this.freePage();
    this.host.backfillDone(this.heldBytes);
  }
}

function openPage(page: BackfillPage): CutReader {
  const reader = new CutReader(page.batch);
  reader.nextCut();
  return reader;
}
