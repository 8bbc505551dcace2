// Sends the changes of one vbucket to one copy: older ones in pages, recent ones from memory, pending durable writes included. A page,
// or the content of memory, is the state at one time; if it is sent in several batches, a later batch may move the end of the snapshot.
import type { Clock } from '#ports/clock.ts';
import type { ChangeSource, Follower } from '../data/change-source.ts';
import { type CutItem, emptyCutItem } from '../data/cut.ts';
import type { DelayedWork } from './delayed-work.ts';

const batchBytes = 256 * 1024;

/** What a batch contains: the fields are those of `CopyBatch`. */
export interface VbucketBatch {
  readonly start: number;
  readonly to: number;
  readonly end: number;
  readonly live: boolean;
  readonly isAwaited: boolean;
  readonly awaitsDisk: boolean;
}

export interface EncodedPage {
  readonly cuts: Uint8Array;
  readonly failover: Uint8Array | undefined;
  readonly sent: () => void;
}

/** Where the batches of a vbucket go. */
export interface BatchSink {
  /** Whether the connection takes more at present; `resume` is called when it does again. */
  readonly hasRoom: boolean;
  /** Begins a batch of changes from memory: `item` for each, then `end` or `abandon`. With the first one: the active's failover log. */
  begin(vb: number, failover?: Uint8Array): void;
  item(item: CutItem): void;
  /** The size of the batch so far. */
  readonly bytes: number;
  end(batch: VbucketBatch): void;
  abandon(): void;
  /** A batch whose changes are encoded already, as cuts. Calls `sent` when their memory is no longer needed. */
  page(vb: number, batch: VbucketBatch, page: EncodedPage): void;
}

export interface VbucketFeedOptions {
  source: ChangeSource;
  vb: number;
  /** The copy has everything up to here. */
  position: number;
  /** The copy knows that tombstones up to this seqno were purged before it began from nothing: it has no documents of those deletions. */
  knownPurge: number;
  clock: Clock;
  sink: BatchSink;
  /** The failover log of the vbucket, which the first batch has. */
  history: (vb: number) => Uint8Array;
  /** Sends changes that no client waits for. */
  delayed: DelayedWork;
  /** Requests wait for the shard: each change is sent at once. */
  isUrgent: () => boolean;
  /** The copy lacks deletions whose tombstones the active has purged: it must be rebuilt. */
  tooOld: () => void;
  /** The copy cannot be continued. */
  failed: (reason: string) => void;
}

export class VbucketFeed implements Follower {
  position: number;
  /** The copy has reported that it reached the end of the feed. */
  isFollowed = false;
  readonly receivesUncommitted = true;
  private readonly options: VbucketFeedOptions;
  private readonly item = emptyCutItem();
  private isHistorySent = false;
  private isReading = false;
  /** Something changed since the page that is being read was requested. */
  private isChanged = false;
  private isScheduled = false;
  private isDelayed = false;
  private isClosed = false;

  constructor(options: VbucketFeedOptions) {
    this.options = options;
    this.position = options.position;
  }

  start(): void {
    this.options.source.follow(this.options.vb, this);
    this.resumeSoon();
  }

  close(): void {
    this.isClosed = true;
    this.options.source.unfollow(this.options.vb, this);
  }

  /** Called once for all changes of one turn of the event loop, so that they are one batch. */
  changed(): void {
    this.isChanged = true;
    if (this.isAwaited()) this.resume();
    else this.resumeDelayed();
  }

  /** Whether a durable write of the vbucket waits for its copies, or requests for the shard. */
  private isAwaited(): boolean {
    const { isUrgent, source, vb } = this.options;
    return isUrgent() || source.visibleSeqno(vb) < source.highSeqno(vb);
  }

  private resumeDelayed(): void {
    if (this.isDelayed || this.isClosed) return;
    this.isDelayed = true;
    this.options.delayed.add(this.runDelayed);
  }

  private readonly runDelayed = (): void => {
    this.isDelayed = false;
    this.resume();
  };

  private resumeSoon(): void {
    if (this.isScheduled || this.isClosed) return;
    this.isScheduled = true;
    this.options.clock.soon(() => {
      this.isScheduled = false;
      this.resume();
    });
  }

  resume(): void {
    const { sink, source, vb } = this.options;
    while (!this.isClosed && !this.isReading && this.position < source.highSeqno(vb) && sink.hasRoom) {
      if (source.hasRecent(vb, this.position) && this.sendRecent()) continue;
      void this.sendPage();
    }
  }

  /** False when the next change must be read from disk. */
  private sendRecent(): boolean {
    const { sink, source, vb } = this.options;
    const end = source.highSeqno(vb);
    const start = this.position + 1;
    sink.begin(vb, this.history());
    let to = this.position;
    while (to < end && sink.bytes < batchBytes) {
      const seqno = source.readNextForCopy(vb, to, end, this.item);
      if (seqno < 0) break;
      if (seqno > 0) sink.item(this.item);
      to = seqno === 0 ? end : seqno;
    }
    if (to < start) {
      sink.abandon();
      return false;
    }
    this.position = to;
    this.isHistorySent = true;
    const isAwaited = this.isAwaited();
    const awaitsDisk = isAwaited && source.awaitsCopiesOnDisk(vb);
    sink.end({ start, to, end, live: to === end, isAwaited, awaitsDisk });
    return true;
  }

  private history(): Uint8Array | undefined {
    return this.isHistorySent ? undefined : this.options.history(this.options.vb);
  }

  private async sendPage(): Promise<void> {
    const { failed, knownPurge, sink, source, tooOld, vb } = this.options;
    this.isReading = true;
    this.isChanged = false;
    let free: (() => void) | undefined;
    try {
      const start = this.position + 1;
      const page = await source.backfillForCopy(vb, this.position);
      free = page.free;
      if (this.isClosed) return;
      if (page.purgeSeqno > Math.max(this.position, knownPurge)) {
        tooOld();
        return;
      }
      // The missing changes were neither on disk nor in memory. A call of `changed` follows when they are, perhaps while the page was read.
      if (page.toSeqno < start) {
        if (this.isChanged) this.resumeSoon();
        return;
      }
      this.position = page.toSeqno;
      const end = Math.max(page.endSeqno, page.toSeqno);
      const awaitsDisk = source.awaitsCopiesOnDisk(vb);
      const batch = { start, to: page.toSeqno, end, live: false, isAwaited: false, awaitsDisk };
      const sent = free;
      free = undefined;
      sink.page(vb, batch, { cuts: page.batch, failover: this.history(), sent: () => sent?.() });
      this.isHistorySent = true;
      this.resumeSoon();
    } catch (error) {
      if (!this.isClosed) failed((error as Error).message);
    } finally {
      free?.();
      this.isReading = false;
    }
  }
}
