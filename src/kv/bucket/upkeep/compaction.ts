// Compaction of one bucket: its files one after another, so that the disk needs space for only one rewritten file at a time. After
// each file, memory drops the tombstones that the file no longer holds.
import { type Clock, nextTurn } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { CompactionReport, CompactionRequest } from '../../admin.ts';
import {
  type CompactResult,
  type DiskEngine,
  everyTombstone,
  type PurgedVbucket,
} from '../../data/disk-engine.ts';
import { oldTombstones, purgeTombstones } from '../../vbucket/tombstone-purge.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';

/** Vbuckets whose tombstones are scanned before clients are served again. */
const vbucketsAtOnce = 8;

export interface CompactionOptions {
  vbuckets: Vbuckets;
  /** Null where there is no disk: then only tombstones are dropped. */
  storage: { disk: DiskEngine; bucketUuid: string; fileCount: number } | null;
  isServed: () => boolean;
  clock: Clock;
  log: Log;
}

export class Compaction {
  private readonly options: CompactionOptions;
  private report: CompactionReport | null = null;
  private cancellation = new AbortController();
  private running: Promise<void> = Promise.resolve();
  /** A purge of every tombstone that was requested while a compaction was running. */
  private following: CompactionRequest | null = null;

  constructor(options: CompactionOptions) {
    this.options = options;
  }

  /** Progress of the compaction under way, or null. */
  get progress(): CompactionReport | null {
    return this.report && { ...this.report };
  }

  /** Starts a compaction unless one is running; a purge of every tombstone then follows it. */
  begin(request: CompactionRequest): void {
    if (!this.options.isServed()) return;
    if (this.report !== null) {
      if (request.purgeBeforeSeconds === 'all') this.following = request;
      return;
    }
    const { columns } = this.options.vbuckets;
    const total = columns.items.reduce(
      (sum, count, vb) => sum + count + (columns.tombstones[vb] as number),
      0,
    );
    this.report = { origin: request.origin, done: 0, total };
    this.cancellation = new AbortController();
    this.running = this.run(request);
  }

  /** Cancels the compaction requested by this origin; without one, any. */
  cancel(origin?: string): void {
    if (this.following && (!origin || this.following.origin === origin)) this.following = null;
    if (this.report && (!origin || this.report.origin === origin)) {
      this.cancellation.abort(new Error('the compaction was cancelled'));
    }
  }

  /** Cancels, and resolves when the compaction has ended. */
  async stop(): Promise<void> {
    this.cancel();
    await this.running;
  }

  private async run(request: CompactionRequest): Promise<void> {
    const { log } = this.options;
    const { origin } = request;
    try {
      log.info('bucket.compaction.done', { origin, ...(await this.compact(request)) });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (this.cancellation.signal.aborted) log.info('bucket.compaction.cancelled', { origin });
      else log.warn('bucket.compaction.failed', { origin, reason });
    }
    this.report = null;
    const { following } = this;
    this.following = null;
    if (following) this.begin(following);
  }

  private async compact({ purgeBeforeSeconds: before }: CompactionRequest) {
    const beforeSeconds = before === 'all' ? everyTombstone : before;
    const results = this.options.storage
      ? await this.compactFiles(this.options.storage, beforeSeconds)
      : [await this.purgeMemoryOnly(beforeSeconds)];
    const sum = (figure: (result: CompactResult) => number): number =>
      results.reduce((total, result) => total + figure(result), 0);
    return {
      bytesBefore: sum(({ bytesBefore }) => bytesBefore),
      bytesAfter: sum(({ bytesAfter }) => bytesAfter),
      tombstones: sum(({ purged }) => purged.reduce((count, { tombstones }) => count + tombstones, 0)),
    };
  }

  private async compactFiles(
    { disk, bucketUuid, fileCount }: NonNullable<CompactionOptions['storage']>,
    purgeBeforeSeconds: number,
  ): Promise<CompactResult[]> {
    const results: CompactResult[] = [];
    const errors: unknown[] = [];
    const { signal } = this.cancellation;
    let earlier = 0;
    for (let file = 0; file < fileCount; file++) {
      let ownDone = 0;
      const progress = (done: number): void => {
        ownDone = done;
        this.reportDone(earlier + done);
      };
      try {
        const result = await disk.compact(bucketUuid, file, { purgeBeforeSeconds, progress, signal });
        await this.purgeMemoryAfterFile(result.purged, purgeBeforeSeconds);
        results.push(result);
      } catch (error) {
        // The other files are compacted although this one is damaged, or the disk has no room for a copy of it.
        errors.push(error);
        if (signal.aborted) break;
      }
      earlier += ownDone;
    }
    if (errors.length > 0) throw errors[0];
    return results;
  }

  private async purgeMemoryOnly(beforeSeconds: number): Promise<CompactResult> {
    const { vbuckets } = this.options;
    const purged: PurgedVbucket[] = [];
    for (let vb = 0; vb < vbuckets.columns.count; vb++) {
      const entry = oldTombstones(vbuckets, vb, beforeSeconds);
      if (entry.purgeSeqno > 0) purgeTombstones(vbuckets, entry, beforeSeconds);
      purged.push(entry);
      if (vb % vbucketsAtOnce === 0) await this.pause();
    }
    return { bytesBefore: 0, bytesAfter: 0, purged };
  }

  /**
   * Drops from memory the tombstones that were purged from a file. A bucket that was emptied or stopped meanwhile needs no purge of
   * memory; tombstones left there are harmless.
   */
  private async purgeMemoryAfterFile(purged: readonly PurgedVbucket[], beforeSeconds: number): Promise<void> {
    let count = 0;
    for (const entry of purged) {
      if (++count % vbucketsAtOnce === 0) await this.pause();
      this.cancellation.signal.throwIfAborted();
      purgeTombstones(this.options.vbuckets, entry, beforeSeconds);
    }
  }

  private pause(): Promise<void> {
    return nextTurn(this.options.clock);
  }

  private reportDone(done: number): void {
    if (this.report) this.report.done = Math.min(done, this.report.total);
  }
}
