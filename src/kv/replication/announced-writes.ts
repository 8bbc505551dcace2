// Writes the documents that this node has of shards that are to be handed over to it, before the actives of the shards make requests wait. The
// requests then wait for one more write of the disk, that of the shard's epoch. For a short time, other documents of the bucket that no client
// waits for are written after it.
import type { Clock, Timer } from '#ports/clock.ts';
import type { ShardSpec, SyncMember } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';

/** How long other documents wait for the epoch of a shard whose documents are on disk. */
export const epochWaitMsMax = 300;

interface AnnouncedWritesOptions {
  bucket: Pick<Bucket, 'delayDiskWork' | 'writeStates'>;
  self: SyncMember;
  vbsOf: (shard: number) => readonly number[];
  clock: Pick<Clock, 'after' | 'monotonicMs'>;
}

export class AnnouncedWrites {
  private readonly options: AnnouncedWritesOptions;
  /** The shards that are to be handed over to this node. */
  private announced: ReadonlySet<number> = new Set();
  /** The announced shards whose documents are not written yet. */
  private readonly waiting = new Set<number>();
  private isWriting = false;
  /** By shard whose documents are on disk, and whose epoch is to be written next: since when. */
  private readonly written = new Map<number, number>();
  private timer: Timer | null = null;

  constructor(options: AnnouncedWritesOptions) {
    this.options = options;
  }

  follow(specs: readonly ShardSpec[]): void {
    const { boot, node } = this.options.self;
    const announced = new Set<number>();
    for (const [shard, { confirmed, state, successor }] of specs.entries()) {
      if (state === 'replica' && successor === node) announced.add(shard);
      else {
        this.waiting.delete(shard);
        if (state !== 'active' || confirmed === boot) this.written.delete(shard);
      }
    }
    for (const shard of announced) if (!this.announced.has(shard)) this.waiting.add(shard);
    this.announced = announced;
    this.proceed();
  }

  /** The writes of the epochs of these shards have ended. */
  epochsWritten(shards: readonly number[]): void {
    for (const shard of shards) this.written.delete(shard);
    this.proceed();
  }

  close(): void {
    this.announced = new Set();
    this.waiting.clear();
    this.written.clear();
    this.proceed();
  }

  private proceed(): void {
    const { clock } = this.options;
    const fromMs = clock.monotonicMs() - epochWaitMsMax;
    for (const [shard, ms] of this.written) if (ms <= fromMs) this.written.delete(shard);
    this.delayDiskWork();
    if (this.waiting.size > 0 && !this.isEpochNear) {
      void this.write();
      this.delayDiskWork();
    }
    this.timer?.cancel();
    const [sinceMs] = this.written.values();
    this.timer = sinceMs === undefined ? null : clock.after(sinceMs - fromMs, () => this.proceed());
  }

  /** The epoch of a shard is to be written next. */
  private get isEpochNear(): boolean {
    return this.isWriting || this.written.size > 0;
  }

  /** Checkpoints that have waited are made before the documents of the next shards are written. */
  private delayDiskWork(): void {
    const checkpoints = this.isEpochNear;
    this.options.bucket.delayDiskWork({ flushes: checkpoints || this.waiting.size > 0, checkpoints });
  }

  private async write(): Promise<void> {
    const { bucket, clock, vbsOf } = this.options;
    const shards = [...this.waiting];
    this.waiting.clear();
    this.isWriting = true;
    await bucket.writeStates(shards.flatMap((shard) => [...vbsOf(shard)]));
    this.isWriting = false;
    for (const shard of shards) if (this.announced.has(shard)) this.written.set(shard, clock.monotonicMs());
    this.proceed();
  }
}
