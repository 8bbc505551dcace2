// Reads and writes documents with random keys of a range, with a fixed number of requests in flight, for a fixed time.

import { type Deferred, deferred } from '#base/deferred.ts';
import { jsonFlags } from '#client/bucket-client.ts';
import { statusName } from '#client/data-port-error.ts';
import { documentKey, vbucketOf } from '#client/document-key.ts';
import type { RequestSender } from '#client/wire-connection.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { Get, SetDocument } from '#wire/commands/documents.ts';
import { responseStatus } from '#wire/frame.ts';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import type { BucketData } from '../remote/bucket-data.ts';
import { Latencies } from './latencies.ts';

export interface LoadPlan {
  readonly collectionId: number;
  readonly prefix: string;
  readonly documents: number;
  readonly value: Buffer;
  /** From 0 to 1. */
  readonly readShare: number;
  /** How many requests of all connections may wait for a reply at once. */
  readonly inFlight: number;
  /** Operations a second; null: as many as the node takes. */
  readonly rate: number | null;
  readonly durationMs: number;
}

export interface LoadFigures {
  readonly reads: Latencies;
  readonly writes: Latencies;
  /** By status. */
  readonly errors: Map<string, number>;
}

const tickMs = 5;

export class LoadRun {
  readonly total: LoadFigures = { reads: new Latencies(), writes: new Latencies(), errors: new Map() };
  /** Since the last call of `takeLatencies`. */
  private readonly sinceLastTake = new Latencies();
  private readonly connections: readonly BucketData[];
  private readonly plan: LoadPlan;
  private readonly random: () => number;
  private readonly ended: Deferred<void> = deferred();
  private readonly startedMs = realClock.monotonicMs();
  /** When the last reply had arrived; null: the run goes on. */
  private endedMs: number | null = null;
  private unanswered = 0;
  private sent = 0;
  private isOver = false;
  private failure: Error | null = null;

  constructor(connections: readonly BucketData[], plan: LoadPlan, random: () => number) {
    this.connections = connections;
    this.plan = plan;
    this.random = random;
  }

  /** Resolves when the last reply has arrived. After an abort it sends nothing more. @throws Error when a connection ends */
  async run(signal: AbortSignal): Promise<void> {
    const tick = setInterval(() => this.sendDue(), tickMs);
    const stop = (): void => this.finish();
    const end = realClock.after(this.plan.durationMs, stop);
    signal.addEventListener('abort', stop);
    try {
      this.sendDue();
      if (signal.aborted) stop();
      await this.ended.promise;
    } finally {
      this.endedMs = realClock.monotonicMs();
      clearInterval(tick);
      end.cancel();
      signal.removeEventListener('abort', stop);
    }
    if (this.failure !== null) throw this.failure;
  }

  /** How long the run has taken: after its end, without what the command does then. */
  get elapsedMs(): number {
    return (this.endedMs ?? realClock.monotonicMs()) - this.startedMs;
  }

  /** The latencies since the last call. */
  takeLatencies(): { count: number; p50: number; p99: number } {
    const { sinceLastTake: latencies } = this;
    const taken = { count: latencies.count, p50: latencies.percentile(0.5), p99: latencies.percentile(0.99) };
    latencies.clear();
    return taken;
  }

  private sendDue(): void {
    const { inFlight, rate, durationMs } = this.plan;
    // The last timer may be late: the run then still sends no more than the rate allows for its duration.
    const elapsedMs = Math.min(this.elapsedMs, durationMs);
    while (
      !this.isOver &&
      this.unanswered < inFlight &&
      (rate === null || this.sent < (rate * elapsedMs) / 1_000)
    )
      this.sendOne();
  }

  private sendOne(): void {
    const { prefix, documents, readShare } = this.plan;
    const key = `${prefix}${Math.floor(this.random() * documents)}`;
    const isRead = this.random() < readShare;
    const vb = vbucketOf(key);
    const connection = this.connections[this.sent++ % this.connections.length] as BucketData;
    let sender: RequestSender;
    try {
      sender = connection.senderOf(vb);
    } catch (error) {
      // The connection was lost while no request waited for a reply on it.
      this.fail(error as Error);
      return;
    }
    const sentMs = realClock.monotonicMs();
    this.unanswered++;
    sender.send(isRead ? this.read(key, vb) : this.write(key, vb), (reply) => {
      this.unanswered--;
      if (reply === null) this.fail(new Error('a connection to the node was lost'));
      else this.record(isRead, responseStatus(reply), realClock.monotonicMs() - sentMs);
      if (this.isOver) this.endIfIdle();
      else this.sendDue();
      return true;
    });
  }

  private read(key: string, vb: number): RequestParts {
    return { opcode: Get.opcode, vb, key: documentKey(this.plan.collectionId, key) };
  }

  private write(key: string, vb: number): RequestParts {
    const extras = Buffer.alloc(8);
    extras.writeUInt32BE(jsonFlags);
    const { collectionId, value } = this.plan;
    return { opcode: SetDocument.opcode, vb, key: documentKey(collectionId, key), extras, value };
  }

  private record(isRead: boolean, status: number, tookMs: number): void {
    if (status === Status.success || (isRead && status === Status.keyNotFound)) {
      (isRead ? this.total.reads : this.total.writes).add(tookMs);
      this.sinceLastTake.add(tookMs);
      return;
    }
    const name = statusName(status);
    this.total.errors.set(name, (this.total.errors.get(name) ?? 0) + 1);
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.finish();
  }

  private finish(): void {
    this.isOver = true;
    this.endIfIdle();
  }

  private endIfIdle(): void {
    if (this.unanswered === 0 || this.failure !== null) this.ended.resolve();
  }
}
