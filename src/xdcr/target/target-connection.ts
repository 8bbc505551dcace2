// One connection to a node of the target: versions wait in a queue, and a bounded number of them is in flight.
import { BucketClient } from '#client/bucket-client.ts';
import type { WireAccount, WireAddress } from '#client/wire-address.ts';
import type { Clock } from '#ports/clock.ts';
import { type Frame, responseStatus } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { countersOf, type ReplicationCounts } from '../replication-counts.ts';
import type { ConflictResolution, DataPathSettings } from '../xdcr.contract.ts';
import type { AcknowledgedPositions } from './acknowledged-positions.ts';
import { metaRequest, type OutgoingVersion, outgoingBytes, writeRequest } from './outgoing.ts';
import { targetMeta, wins } from './resolution.ts';
import type { SendLimit } from './send-limit.ts';

export interface TargetConnectionOptions {
  readonly address: WireAddress;
  readonly account: WireAccount;
  readonly bucket: string;
  readonly rule: ConflictResolution;
  readonly settings: DataPathSettings;
  readonly limit: SendLimit;
  readonly acknowledged: AcknowledgedPositions;
  readonly counts: ReplicationCounts;
  readonly clock: Clock;
  /** The part of `workerBatchSize` that may be in flight, above 0 and at most 1. */
  readonly share: () => number;
  /** The target refused a version with a status that is neither success nor a lost conflict. */
  readonly refused: (outgoing: OutgoingVersion, status: number) => void;
  readonly failed: (reason: Error) => void;
}

const kib = 1024;
/** After this many versions that were taken from the queue, the queue is shortened. */
const compactAt = 1024;
const failedCounters = countersOf('failed_cr_source');
const writtenCounters = countersOf('docs_written');

export class TargetConnection {
  /** Resolves when the connection is open; a rejection is reported to `failed` as well. */
  readonly ready: Promise<BucketClient>;
  queuedBytes = 0;
  private readonly options: TargetConnectionOptions;
  private readonly queue: OutgoingVersion[] = [];
  /** Index in `queue` of the next version to send. */
  private next = 0;
  private client: BucketClient | null = null;
  private inFlight = 0;
  private inFlightBytes = 0;
  private isFull = false;
  private isThrottled = false;
  private isClosed = false;

  constructor(options: TargetConnectionOptions) {
    this.options = options;
    this.ready = BucketClient.open(options);
    this.ready.then(
      (client) => this.opened(client),
      (reason: Error) => this.fail(reason),
    );
  }

  get queued(): number {
    return this.queue.length - this.next;
  }

  send(outgoing: OutgoingVersion): void {
    this.queue.push(outgoing);
    this.queuedBytes += outgoingBytes(outgoing);
    this.sendQueued();
  }

  close(): void {
    this.isClosed = true;
    this.client?.close();
  }

  private opened(client: BucketClient): void {
    if (this.isClosed) {
      client.close();
      return;
    }
    this.client = client;
    this.sendQueued();
  }

  private fail(reason: Error): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.options.failed(reason);
  }

  private sendQueued(): void {
    const { settings, limit, clock, share } = this.options;
    const inFlightMax = Math.ceil(settings.workerBatchSize * share());
    const bytesMax = settings.docBatchSizeKb * kib;
    // A full window is refilled when half of it is free: one write of many requests costs far less than many writes of one.
    if (this.isFull && (this.inFlight > inFlightMax / 2 || this.inFlightBytes > bytesMax / 2)) return;
    this.isFull = false;
    while (this.client !== null && this.queued > 0 && !this.isThrottled && !this.isClosed) {
      if (this.inFlight >= inFlightMax || this.inFlightBytes >= bytesMax) {
        this.isFull = true;
        return;
      }
      const waitMs = limit.waitMs;
      if (waitMs > 0) {
        this.isThrottled = true;
        clock.after(waitMs, () => {
          this.isThrottled = false;
          this.sendQueued();
        });
        return;
      }
      this.start(this.shiftNext());
    }
  }

  private shiftNext(): OutgoingVersion {
    const outgoing = this.queue[this.next++] as OutgoingVersion;
    if (this.next === this.queue.length || this.next >= compactAt) {
      this.queue.splice(0, this.next);
      this.next = 0;
    }
    this.queuedBytes -= outgoingBytes(outgoing);
    return outgoing;
  }

  private start(outgoing: OutgoingVersion): void {
    const { settings, counts } = this.options;
    this.inFlight++;
    this.inFlightBytes += outgoingBytes(outgoing);
    if (outgoing.value.length >= settings.optimisticReplicationThreshold) {
      this.requestMeta(outgoing);
      return;
    }
    if (outgoing.attempts === 0) counts.add('docs_opt_repd');
    this.write(outgoing);
  }

  private requestMeta(outgoing: OutgoingVersion): void {
    const { rule, counts, clock } = this.options;
    const sentMs = clock.monotonicMs();
    this.client?.connection.send(metaRequest(outgoing), (frame) => {
      if (frame === null) return this.lost();
      counts.time('wtavg_meta_latency', clock.monotonicMs() - sentMs);
      const status = responseStatus(frame);
      if (status === Status.keyNotFound) this.write(outgoing);
      else if (status !== Status.success) this.finished(outgoing, status);
      else if (wins(outgoing, targetMeta(frame), rule)) this.write(outgoing);
      else {
        counts.add('docs_failed_cr_source');
        counts.add(failedCounters[outgoing.kind]);
        this.finished(outgoing, Status.success);
      }
      return true;
    });
  }

  private write(outgoing: OutgoingVersion): void {
    const { rule, limit, clock } = this.options;
    const sentMs = clock.monotonicMs();
    limit.sent(outgoingBytes(outgoing));
    this.client?.connection.send(writeRequest(outgoing, rule), (frame) => {
      if (frame === null) return this.lost();
      this.written(outgoing, frame, clock.monotonicMs() - sentMs);
      return true;
    });
  }

  private written(outgoing: OutgoingVersion, frame: Frame, tookMs: number): void {
    const status = responseStatus(frame);
    const { acknowledged, counts } = this.options;
    acknowledged.add(outgoing.vb, frame);
    const hasLost = status === Status.keyExists || status === Status.keyNotFound;
    if (status === Status.success || hasLost) {
      counts.time('wtavg_docs_latency', tookMs);
      counts.add('docs_written');
      counts.add(writtenCounters[outgoing.kind]);
      counts.add('data_replicated', outgoing.value.length + outgoing.key.length);
      if (hasLost) counts.add('docs_failed_cr_target');
    }
    this.finished(outgoing, hasLost ? Status.success : status);
  }

  private finished(outgoing: OutgoingVersion, status: number): void {
    this.inFlight--;
    this.inFlightBytes -= outgoingBytes(outgoing);
    if (status === Status.success) outgoing.done();
    else this.options.refused(outgoing, status);
    this.sendQueued();
  }

  private lost(): true {
    this.fail(new Error(`the connection to ${this.options.address.host} ended`));
    return true;
  }
}
