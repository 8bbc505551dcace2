// Removes vbuckets of shards that this node no longer has, or whose copies are rebuilt.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ShardSpec } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { lowWatermarkShare } from '../watermarks.ts';
import type { PeerConnections } from './peers.ts';

const retryPauseMs = 5_000;
/**
 * A removal waits until the map has been unchanged for this time, since it delays the disk for shards that are being filled or handed over. It
 * waits at most `waitMsMax`, and does not wait while the memory of the bucket is above the low watermark.
 */
const quietAfterMs = 500;
const waitMsMax = 5_000;

interface ShardDropsOptions {
  uuid: string;
  bucket: Bucket;
  peers: Pick<PeerConnections, 'answeredMs' | 'isInCluster'>;
  /** Whether this node keeps copies that the map no longer gives to it, for delta recovery. */
  keepsCopies: () => boolean;
  /** Called when a removal has completed or failed. */
  ended: () => void;
  clock: Clock;
  log: Log;
}

export class ShardDrops {
  private readonly options: ShardDropsOptions;
  /** The shards whose vbuckets are being removed. */
  private readonly dropping = new Set<number>();
  private notBeforeMs = -Infinity;
  /** Since when there have been leftovers. */
  private sinceMs: number | null = null;
  /** The map that was seen last, and since when. */
  private seen: { readonly specs: readonly ShardSpec[] | null; readonly ms: number } = {
    specs: null,
    ms: -Infinity,
  };
  /** The removals of leftovers begin after the next write of the map. */
  areDue = false;
  /** By shard whose feed has ended: the active that fed it, and since when. */
  private readonly ended = new Map<number, { node: string; ms: number }>();

  constructor(options: ShardDropsOptions) {
    this.options = options;
  }

  isDropping(shard: number): boolean {
    return this.dropping.has(shard);
  }

  /** The copy is not fed any more; its active is informed by a message, or by the loss of the connection. */
  feedEnded(shard: number, node: string): void {
    this.ended.set(shard, { node, ms: this.options.clock.monotonicMs() });
  }

  /** Shards that have documents here although the map places them on other nodes only, and whose removal may begin. */
  leftovers(
    specs: readonly ShardSpec[],
    self: string,
    vbsOf: (shard: number) => readonly number[],
  ): number[] {
    if (this.seen.specs !== specs) this.seen = { specs, ms: this.options.clock.monotonicMs() };
    if (this.options.keepsCopies()) return [];
    return specs.flatMap(({ inSync = [], state }, shard) => {
      const isGone = state === 'dead' && !inSync.some(({ node }) => node === self);
      return isGone && this.isDue(shard, vbsOf(shard)) ? [shard] : [];
    });
  }

  /** Whether the removal of these leftovers is to begin, after a write of the map. */
  becomeDue({ length }: readonly number[]): boolean {
    const { bucket, clock } = this.options;
    const now = clock.monotonicMs();
    this.sinceMs = length === 0 ? null : (this.sinceMs ?? now);
    if (this.sinceMs === null) this.areDue = false;
    else if (now - this.seen.ms >= quietAfterMs || now - this.sinceMs >= waitMsMax) this.areDue = true;
    else this.areDue ||= bucket.documents.memUsed >= bucket.rules.quotaBytes * lowWatermarkShare;
    return this.areDue;
  }

  private isDue(shard: number, vbs: readonly number[]): boolean {
    const { bucket, clock } = this.options;
    if (this.dropping.has(shard) || clock.monotonicMs() < this.notBeforeMs) return false;
    if (this.mayActiveCount(shard)) return false;
    return vbs.some((vb) => (bucket.columns.highSeqno[vb] as number) > 0);
  }

  /**
   * Whether the active may still count what this copy reported: if the map gave the copy back at once, the copy would join the in-sync set with
   * documents that this node has removed. The active has received the message that the feed ended before it answers a later heartbeat.
   */
  private mayActiveCount(shard: number): boolean {
    const { peers } = this.options;
    const fed = this.ended.get(shard);
    return fed !== undefined && peers.isInCluster(fed.node) && peers.answeredMs(fed.node) <= fed.ms;
  }

  /** Begins a removal. A failed one is logged, and is due again later. `remove` replaces the removal of all these vbuckets as a whole. */
  begin(
    shard: number,
    vbs: readonly number[],
    remove: () => Promise<void> = () => this.options.bucket.drop(vbs),
  ): void {
    const { clock, ended, log, uuid } = this.options;
    if (this.dropping.has(shard)) return;
    this.dropping.add(shard);
    remove()
      .catch((error: Error) => {
        this.notBeforeMs = clock.monotonicMs() + retryPauseMs;
        log.warn('replication.drop_failed', { bucket: uuid, shard, reason: error.message });
      })
      .finally(() => {
        this.dropping.delete(shard);
        ended();
      });
  }
}
