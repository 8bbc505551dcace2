// Keeps a bucket inside its quota: above the high watermark it evicts values or documents until memory is below
// the low one, in slices of well under a millisecond between which clients are served. It also defragments: it empties sparse pages.
import type { Clock, Timer } from '#ports/clock.ts';
import type { BucketType, EvictionPolicy } from '../../admin.ts';
import { Defragmenter } from '../../vbucket/defragmenter.ts';
import { Evictor } from '../../vbucket/evictor.ts';
import type { Residency } from '../../vbucket/residency.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import { highWatermarkShare, lowWatermarkShare } from '../../watermarks.ts';
import type { BucketRules } from '../rules.ts';

/** From this share of the quota on, writes evict items themselves. */
const nearQuotaShare = 0.95;
/** Items visited in a slice. */
const sliceSteps = 1000;
/** Limits of the eviction done inside a write to a full bucket. */
const inlineSteps = 256;
const inlineSlices = 4;
/** Retry delay when nothing could be evicted: dirty items may be written by then. */
const retryPauseMs = 20;
/** Interval of the checks while nothing is written. */
const idleCheckMs = 10_000;
/** A round of defragmentation starts once holes are more than this share of memory: under pressure, and without. */
const sparseShareUnderPressure = 1 / 16;
const sparseShareAtRest = 1 / 4;
/** A round that leaves more than this share of the sparse bytes is not repeated. */
const worthwhileShare = 15 / 16;
/** Sparse bytes below this share of the quota start no walk. */
const sparseShareOfQuota = 1 / 32;

export interface MemoryKeeperOptions {
  type: BucketType;
  policy: EvictionPolicy;
  rules: BucketRules;
  vbuckets: Vbuckets;
  residency: Residency;
  clock: Clock;
  /** Reads the clock before a slice of work. */
  tick: () => void;
  /** Bytes of memory the bucket uses beside items and indexes. */
  otherBytes: () => number;
}

export class MemoryKeeper {
  private readonly options: MemoryKeeperOptions;
  private readonly vbuckets: Vbuckets;
  private readonly evictor: Evictor;
  private readonly defragmenter: Defragmenter;
  private idleTimer: Timer | null = null;
  private isWorking = false;
  private isDefragmenting = false;
  private sparseBefore = 0;
  /** Sparse bytes left by the last round: another round starts only when there are more. */
  private unreclaimableBytes = 0;
  /** The last round also emptied pages with few holes: no more memory can be freed. */
  private isThorough = false;
  private isStopped = true;

  constructor(options: MemoryKeeperOptions) {
    this.options = options;
    this.vbuckets = options.vbuckets;
    this.evictor = new Evictor(options);
    this.defragmenter = new Defragmenter(options.vbuckets, options.residency);
  }

  /** Values, items or documents evicted since start. */
  get evictions(): number {
    return this.evictor.evicted;
  }

  /** Memory that the bucket really occupies. */
  get usedBytes(): number {
    return this.vbuckets.heap.touchedBytes + this.restBytes;
  }

  get highBytes(): number {
    return this.options.rules.quotaBytes * highWatermarkShare;
  }

  get lowBytes(): number {
    return this.options.rules.quotaBytes * lowWatermarkShare;
  }

  start(): void {
    this.isStopped = false;
    this.checkPeriodically();
  }

  stop(): void {
    this.isStopped = true;
    this.idleTimer?.cancel();
    this.idleTimer = null;
  }

  /** Changes the policy of a bucket without a disk, which may happen while it runs. */
  follow(policy: EvictionPolicy): void {
    this.evictor.follow(this.options.type, policy);
    this.relievePressure();
  }

  /** Called when items were persisted: they can be moved now, so a round that had to skip them is worth repeating. */
  persisted(): void {
    if (this.defragmenter.unmovable > 0 && this.usedBytes > this.highBytes) this.allowRound();
  }

  /** Starts eviction when memory has grown, or its quota shrunk, above the high watermark. */
  relievePressure(): void {
    if (this.isWorking || this.isStopped || this.usedBytes <= this.highBytes) return;
    this.evictor.retry();
    this.work();
  }

  /** Evicts within narrow limits before a write or the load of a value, when little room is left. */
  makeRoom(): void {
    const limit = this.options.rules.quotaBytes * nearQuotaShare;
    for (let i = 0; i < inlineSlices && this.liveBytes > limit; i++) {
      if (!this.evictor.slice(inlineSteps)) return;
    }
  }

  /**
   * Whether a value may be loaded from disk: reads may exceed the quota a little, since clients wait for them. Uncommitted cuts
   * do not count here: they are few, and freed by the commit.
   */
  get admitsValues(): boolean {
    const { nonResidentKeys, heap, index } = this.vbuckets;
    const keptBytes = heap.touchedBytes + index.bytes + nonResidentKeys.bytes;
    return keptBytes <= this.options.rules.quotaBytes * (2 - nearQuotaShare);
  }

  private get liveBytes(): number {
    return this.vbuckets.heap.usedBytes + this.restBytes;
  }

  private get restBytes(): number {
    const { nonResidentKeys, index } = this.vbuckets;
    return index.bytes + nonResidentKeys.bytes + this.options.otherBytes();
  }

  /** Bytes of holes: memory of pages that is touched and has no live item. */
  private get sparseBytes(): number {
    const { heap } = this.vbuckets;
    return heap.touchedBytes - heap.usedBytes;
  }

  /** Runs periodically, whether or not anything is written. */
  private checkPeriodically(): void {
    this.idleTimer = this.options.clock.after(idleCheckMs, () => this.checkPeriodically());
    this.allowRound();
    this.relievePressure();
    if (!this.isWorking && this.isSparse(sparseShareAtRest)) this.work();
  }

  private work(): void {
    this.isWorking = true;
    this.options.clock.soon(() => this.slice());
  }

  private slice(): void {
    this.isWorking = false;
    if (this.isStopped) return;
    this.options.tick();
    if (this.evictSlice() || this.defragmentSlice() || this.evictMore()) this.work();
    else if (this.usedBytes > this.highBytes) this.retryLater();
  }

  private retryLater(): void {
    this.isWorking = true;
    this.options.clock.after(retryPauseMs, () => {
      this.evictor.retry();
      this.slice();
    });
  }

  /** Compares live bytes: free chunks between live ones free no memory until the live ones are moved together. */
  private evictSlice(): boolean {
    return this.liveBytes > this.lowBytes && this.evictor.slice(sliceSteps);
  }

  /** Evicts beyond the low watermark when nothing is left to defragment and nothing waits for the disk. */
  private evictMore(): boolean {
    const isNeeded = this.usedBytes > this.highBytes && this.defragmenter.unmovable === 0;
    return isNeeded && this.evictor.slice(sliceSteps);
  }

  private defragmentSlice(): boolean {
    if (this.isDefragmenting) {
      this.isDefragmenting = this.defragmenter.slice(sliceSteps);
      if (!this.isDefragmenting) this.noteRound();
      return true;
    }
    const isPressed = this.usedBytes > this.lowBytes;
    if (!this.isSparse(isPressed ? sparseShareUnderPressure : sparseShareAtRest)) return false;
    this.isThorough = this.unreclaimableBytes > 0 && this.usedBytes > this.highBytes;
    this.defragmenter.begin(this.isThorough);
    this.sparseBefore = this.sparseBytes;
    this.isDefragmenting = true;
    return true;
  }

  /** Lets another round start, although the last one may have freed little. */
  private allowRound(): void {
    this.unreclaimableBytes = 0;
    this.isThorough = false;
  }

  private isSparse(share: number): boolean {
    const worth = this.options.rules.quotaBytes * sparseShareOfQuota;
    const isLastResort = this.usedBytes > this.highBytes && !this.isThorough;
    const unreclaimable = isLastResort ? 0 : this.unreclaimableBytes;
    return this.sparseBytes > Math.max(worth, this.vbuckets.heap.touchedBytes * share, unreclaimable);
  }

  /** Items that cannot be moved, or new holes, may offset what a round frees. */
  private noteRound(): void {
    const { sparseBefore, sparseBytes } = this;
    this.unreclaimableBytes =
      sparseBytes < sparseBefore * worthwhileShare ? 0 : sparseBytes * (2 - worthwhileShare);
  }
}
