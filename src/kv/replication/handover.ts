// Moves a shard to another member of its in-sync set: the active waits until the successor has written the shard to its disk, accepts no more
// writes, waits until every member has all changes, and may then report that it has stopped. If that takes too long, it serves again and retries
// later.
import type { Clock } from '#ports/clock.ts';
import type { Bucket } from '../bucket/bucket.ts';
import type { ShardRef } from './frames.ts';
import type { Handovers } from './handovers.ts';

/** The longest time for which requests wait. */
const durationMsMax = 1_000;
/** The pause after a handover that took too long. */
const retryPauseMs = 2_000;
/** The longest time for which a handover waits for the disk of the successor, before requests wait for the handover. */
const writingMsMax = 2_000;

export interface HandoverOptions {
  /** The vbuckets of the shard. */
  vbs: readonly number[];
  ref: Pick<ShardRef, 'epoch' | 'shard'>;
  handovers: Handovers;
  bucket: Bucket;
  clock: Clock;
}

export class Handover {
  private readonly options: HandoverOptions;
  private sinceMs: number | null = null;
  private notBeforeMs = -Infinity;
  /** The successor, since when it is named, and by vbucket the seqnos that the shard had then. */
  private named: {
    readonly key: string;
    readonly sinceMs: number;
    readonly seqnos: readonly number[];
  } | null = null;

  constructor(options: HandoverOptions) {
    this.options = options;
  }

  get isUnderWay(): boolean {
    return this.sinceMs !== null;
  }

  /**
   * Whether the handover begins as soon as the disk of the successor has what the shard had; after a handover that took too long there is a
   * pause first.
   */
  get isComing(): boolean {
    if (this.named === null || this.sinceMs !== null) return false;
    return this.options.clock.monotonicMs() >= this.notBeforeMs;
  }

  /**
   * Begins the handover to the member with the key `successor`, or ends it if `successor` is null. Returns whether the handover has begun
   * in this call.
   */
  follow(successor: string | null): boolean {
    const { bucket, clock, handovers, ref, vbs } = this.options;
    const now = clock.monotonicMs();
    if (successor === null) this.named = null;
    if (this.sinceMs !== null && (successor === null || now - this.sinceMs > durationMsMax)) this.postpone();
    if (successor === null || this.sinceMs !== null || now < this.notBeforeMs) return false;
    if (!this.isWritten(successor) || !handovers.begin(ref.shard, ref.epoch)) return false;
    this.sinceMs = now;
    bucket.handOver(vbs, true);
    return true;
  }

  /**
   * Whether the successor's disk has what the shard had when it was named, so that little is left to write while requests wait: the
   * successor confirms the shard only when all documents of the shard are on its disk.
   */
  private isWritten(key: string): boolean {
    const { bucket, clock, vbs } = this.options;
    if (!bucket.isOnDisk) return true;
    const now = clock.monotonicMs();
    if (this.named?.key !== key)
      this.named = { key, sinceMs: now, seqnos: vbs.map((vb) => bucket.columns.highSeqno[vb] as number) };
    const { seqnos, sinceMs } = this.named;
    const has = (vb: number, at: number): boolean =>
      bucket.progress.copyPersistedSeqno(vb, key) >= (seqnos[at] as number);
    return now - sinceMs > writingMsMax || vbs.every(has);
  }

  /** Whether every member has all changes, and no client waits for a durable write. */
  isComplete(): boolean {
    const { bucket, vbs } = this.options;
    if (this.sinceMs === null || !bucket.isResolved(vbs)) return false;
    return vbs.every((vb) => bucket.progress.committedSeqno(vb) >= (bucket.columns.highSeqno[vb] as number));
  }

  /** This node serves the shard again, and begins the handover anew after a pause. */
  postpone(): void {
    this.notBeforeMs = this.options.clock.monotonicMs() + retryPauseMs;
    this.end();
  }

  /** `staysActive`: this node still serves the shard. */
  end(staysActive = true): void {
    if (this.sinceMs === null) return;
    this.sinceMs = null;
    if (staysActive) this.options.handovers.abandon(this.options.ref.shard);
    this.options.bucket.handOver(this.options.vbs, false, staysActive);
  }
}
