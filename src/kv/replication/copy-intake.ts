// Applies the batches of a shard's active to the copy on this node in order, waits for disk and memory where necessary, and reports the
// position of the copy.
import type { Clock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import type { Applier } from '../bucket/documents/applier.ts';
import { CutReader } from '../data/cut.ts';
import { type DocumentResult, type FetchedDocument, notResident } from '../data/documents.ts';
import { CopyPhase } from '../data/vbucket-state.ts';
import { type BatchBody, type CopyBatch, emptyBatch } from './frames.ts';

const retryPauseMs = 20;

export interface CopyIntakeOptions {
  applier: Applier;
  clock: Clock;
  /** Updates the current time, before an item is applied. */
  tick: () => void;
  highSeqno: (vb: number) => number;
  /** Called after each batch, with its size. */
  applied: (batch: CopyBatch, bytes: number) => void;
  /** The batch does not continue the copy, or this node no longer has a copy: the intake is to be closed. */
  failed: (reason: string) => void;
}

interface QueuedBatch {
  batch: CopyBatch;
  body: BatchBody;
  bytes: number;
}

const noBody: BatchBody = { bytes: Buffer.alloc(0), start: 0, end: 0, items: 0 };

/** The intake of a shard, from the active of this epoch on this node. */
export interface ShardIntake {
  readonly node: string;
  readonly epoch: number;
  readonly intake: CopyIntake;
}

export class CopyIntake {
  private readonly options: CopyIntakeOptions;
  private readonly queue: QueuedBatch[] = [];
  /** The batch that is taken: nearly all are applied at once, without the queue. */
  private readonly arrived: QueuedBatch = { batch: emptyBatch(), body: noBody, bytes: 0 };
  private readonly reader = new CutReader(Buffer.alloc(0));
  /** Some items of the first batch in the queue are applied already; the reader is at the next one. */
  private isBegun = false;
  private isWaiting = false;
  /** The outcome of the batch that was applied last. */
  private status: DocumentResult = Status.success;
  private isClosed = false;
  /** Bytes of the batches that are not applied yet. */
  private waitingBytes = 0;

  constructor(options: CopyIntakeOptions) {
    this.options = options;
  }

  /**
   * Applies the batch, or queues a copy of what is left of it; the caller may reuse the batch and its memory afterwards. The queue is bounded
   * by the sender's limit on unconfirmed bytes.
   */
  receive(batch: CopyBatch, body: BatchBody, bytes: number): void {
    this.waitingBytes += bytes;
    if (this.isWaiting) {
      this.queue.push({ batch: copyOf(batch), body: copyOfBody(body), bytes });
      return;
    }
    const { arrived } = this;
    arrived.batch = batch;
    arrived.body = body;
    arrived.bytes = bytes;
    if (this.tryApply(arrived)) {
      this.end(arrived);
      return;
    }
    // What is left of its body is in the reader.
    this.reader.keep();
    this.queue.push({ batch: copyOf(batch), body: noBody, bytes });
  }

  /** Returns the bytes of the batches that will not be applied. */
  close(): number {
    const bytes = this.waitingBytes;
    this.isClosed = true;
    this.queue.length = 0;
    this.waitingBytes = 0;
    return bytes;
  }

  /** Applies queued batches, without a promise for each: nearly all are applied at once. */
  private run(): void {
    for (let first = this.queue[0]; first !== undefined && !this.isClosed; first = this.queue[0]) {
      if (!this.tryApply(first)) return;
      this.queue.shift();
      this.end(first);
    }
  }

  /** Applies the batch; false: what is left of it is applied later. */
  private tryApply(queued: QueuedBatch): boolean {
    this.status = this.apply(queued);
    return !this.retriesLater(this.status);
  }

  private end({ batch, bytes }: QueuedBatch): void {
    this.isBegun = false;
    if (this.status === Status.success) {
      this.waitingBytes -= bytes;
      this.options.applied(batch, bytes);
    } else this.options.failed(`status ${this.status} at seqno ${batch.start} of vbucket ${batch.vb}`);
  }

  /** True: the item can be applied later, and another attempt is scheduled. */
  private retriesLater(status: DocumentResult): boolean {
    const needsDisk = status === notResident;
    const needsMemory = status === Status.temporaryFailure || status === Status.outOfMemory;
    this.isWaiting = this.isBegun && (needsDisk || needsMemory);
    if (!this.isWaiting) return false;
    if (needsDisk) this.options.applier.awaitDisk((fetched) => this.diskAnswered(fetched));
    else this.resumeLater();
    return true;
  }

  /**
   * A refused read calls this function at once, before the batch is in the queue: the next attempt has to come later. So it has where memory had no
   * room for the document, which would be read again and again.
   */
  private diskAnswered(fetched: FetchedDocument | Status): void {
    if (typeof fetched === 'object' && !fetched.lacksRoom) this.resume();
    else this.resumeLater();
  }

  private resumeLater(): void {
    this.options.clock.after(retryPauseMs, () => this.resume());
  }

  private resume(): void {
    this.isWaiting = false;
    if (this.isClosed) return;
    this.options.tick();
    try {
      this.run();
    } catch (error) {
      this.options.failed((error as Error).message);
    }
  }

  private apply({ batch, body }: QueuedBatch): DocumentResult {
    const { applier } = this.options;
    const { awaitsDisk, live, to, vb } = batch;
    const begun = this.isBegun ? this.applyItem(vb) : this.begin(batch, body);
    if (begun !== Status.success) return begun;
    const applied = this.applyItems(vb);
    if (applied !== Status.success) return applied;
    const advanced = applier.advance(vb, to);
    if (awaitsDisk) applier.writeSoon(vb);
    return advanced === Status.success && live ? applier.setPhase(vb, CopyPhase.following) : advanced;
  }

  private begin({ end, failover, start, vb }: CopyBatch, body: BatchBody): DocumentResult {
    const { applier, highSeqno } = this.options;
    if (failover !== undefined) {
      const status = applier.adoptHistory(vb, failover);
      if (status !== Status.success) return status;
    }
    // Each batch continues the one before: where one is missing, the copy would lack its changes and report that it has them.
    if (start !== highSeqno(vb) + 1) return Status.outOfRange;
    if (body.items < 0) this.reader.read(body.bytes);
    else this.reader.readItems(body.bytes, body.start, body.end, body.items);
    return applier.begin(vb, { start, end });
  }

  private applyItems(vb: number): DocumentResult {
    const { reader } = this;
    for (;;) {
      while (!reader.nextItem()) if (!reader.nextCut()) return Status.success;
      this.isBegun = true;
      const status = this.applyItem(vb);
      if (status !== Status.success) return status;
    }
  }

  private applyItem(vb: number): DocumentResult {
    const { item } = this.reader;
    return item.seqno <= this.options.highSeqno(vb) ? Status.success : this.options.applier.apply(vb, item);
  }
}

const copyOf = (batch: CopyBatch): CopyBatch => ({
  ...batch,
  failover: batch.failover === undefined ? undefined : Buffer.from(batch.failover),
});

function copyOfBody({ bytes, end, items, start }: BatchBody): BatchBody {
  const copy = Buffer.from(bytes.subarray(start, end));
  return { bytes: copy, start: 0, end: copy.length, items };
}
