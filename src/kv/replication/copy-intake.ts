// Applies the batches of a shard's active to the copy on this node in order, waits for disk and memory where necessary, and reports the
// position of the copy.
import type { Clock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import type { Applier } from '../bucket/documents/applier.ts';
import { type CutItem, CutReader } from '../data/cut.ts';
import { type DocumentResult, notResident } from '../data/documents.ts';
import { CopyPhase } from '../data/vbucket-state.ts';
import type { CopyBatch } from './frames.ts';

const retryMs = 20;

export interface CopyIntakeOptions {
  applier: Applier;
  clock: Clock;
  /** Updates the current time, before an item is applied. */
  tick: () => void;
  highSeqno: (vb: number) => number;
  /** Called after each batch, with its size. */
  applied: (vb: number, bytes: number) => void;
  /** The batch does not continue the copy, or this node no longer has a copy: the intake is to be closed. */
  failed: (reason: string) => void;
}

export class CopyIntake {
  private readonly options: CopyIntakeOptions;
  private readonly queue: { batch: CopyBatch; body: Buffer; bytes: number }[] = [];
  private isRunning = false;
  private isClosed = false;
  /** Bytes of the batches that are not applied yet. */
  private waitingBytes = 0;

  constructor(options: CopyIntakeOptions) {
    this.options = options;
  }

  /** The queue is bounded by the sender's limit on unconfirmed bytes. */
  take(batch: CopyBatch, body: Buffer, bytes: number): void {
    this.waitingBytes += bytes;
    this.queue.push({ batch, body, bytes });
    if (!this.isRunning) void this.run();
  }

  /** Returns the bytes of the batches that will not be applied. */
  close(): number {
    const bytes = this.waitingBytes;
    this.isClosed = true;
    this.queue.length = 0;
    this.waitingBytes = 0;
    return bytes;
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    for (let next = this.queue.shift(); next !== undefined && !this.isClosed; next = this.queue.shift()) {
      const status = await this.apply(next.batch, next.body);
      if (this.isClosed) break;
      if (status === Status.success) {
        this.waitingBytes -= next.bytes;
        this.options.applied(next.batch.vb, next.bytes);
      } else this.options.failed(`status ${status} at seqno ${next.batch.start} of vbucket ${next.batch.vb}`);
    }
    this.isRunning = false;
  }

  private async apply(batch: CopyBatch, body: Buffer): Promise<DocumentResult> {
    const { applier, highSeqno, tick } = this.options;
    const { vb, end, live, start, to } = batch;
    tick();
    if (batch.failover !== undefined) {
      const status = applier.takeHistory(vb, Buffer.from(batch.failover, 'base64'));
      if (status !== Status.success) return status;
    }
    // Each batch continues the one before: where one is missing, the copy would lack its changes and report that it has them.
    if (start !== highSeqno(vb) + 1) return Status.outOfRange;
    const begun = applier.begin(vb, { start, end });
    if (begun !== Status.success) return begun;
    const reader = new CutReader(body);
    while (reader.nextCut()) {
      while (reader.nextItem()) {
        if (reader.item.seqno <= highSeqno(vb)) continue;
        const status = await this.applyItem(vb, reader.item);
        if (status !== Status.success) return status;
      }
    }
    const advanced = applier.advance(vb, to);
    return advanced === Status.success && live ? applier.setPhase(vb, CopyPhase.following) : advanced;
  }

  private async applyItem(vb: number, item: CutItem): Promise<DocumentResult> {
    const { applier, clock, tick } = this.options;
    for (;;) {
      const status = applier.apply(vb, item);
      if (status === notResident) await new Promise((resolve) => applier.awaitDisk(resolve));
      else if (status === Status.temporaryFailure || status === Status.outOfMemory)
        await clock.sleep(retryMs);
      else return status;
      if (this.isClosed) return Status.temporaryFailure;
      tick();
    }
  }
}
