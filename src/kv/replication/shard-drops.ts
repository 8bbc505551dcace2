// Removes vbuckets of shards that this node no longer has, or whose copies are rebuilt.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ShardSpec } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import type { PeerConnections } from './peers.ts';

const retryMs = 5_000;
/** For so long removals wait for a change of the map that this node makes anyway, as it does while other shards move. */
const ownChangeMs = 200;

interface ShardDropsOptions {
  uuid: string;
  bucket: Bucket;
  peers: Pick<PeerConnections, 'answeredMs' | 'isMember'>;
  /** Whether copies that the map no longer has stay, for delta recovery. */
  keepsCopies: () => boolean;
  /** A removal has ended, completed or not. */
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
    if (this.options.keepsCopies()) return [];
    return specs.flatMap(({ inSync = [], state }, shard) => {
      const isGone = state === 'dead' && !inSync.some(({ node }) => node === self);
      return isGone && this.isDue(shard, vbsOf(shard)) ? [shard] : [];
    });
  }

  /** Whether these leftovers have waited so long that the map is written only to remove them. */
  areOverdue({ length }: readonly number[]): boolean {
    const now = this.options.clock.monotonicMs();
    this.sinceMs = length === 0 ? null : (this.sinceMs ?? now);
    return this.sinceMs !== null && now - this.sinceMs >= ownChangeMs;
  }

  private isDue(shard: number, vbs: readonly number[]): boolean {
    const { bucket, clock } = this.options;
    if (this.dropping.has(shard) || clock.monotonicMs() < this.notBeforeMs) return false;
    if (this.mayCount(shard)) return false;
    return vbs.some((vb) => (bucket.columns.highSeqno[vb] as number) > 0);
  }

  /**
   * Whether the active may still count what this copy reported: if the map gave the copy back at once, it would join the in-sync set with
   * documents that it has no more. The active has the message before it answers a later beat.
   */
  private mayCount(shard: number): boolean {
    const { peers } = this.options;
    const fed = this.ended.get(shard);
    return fed !== undefined && peers.isMember(fed.node) && peers.answeredMs(fed.node) <= fed.ms;
  }

  /** A failed removal is logged, and is due again later. `remove`: where not all of these vbuckets are removed as a whole. */
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
        this.notBeforeMs = clock.monotonicMs() + retryMs;
        log.warn('replication.drop_failed', { bucket: uuid, shard, reason: error.message });
      })
      .finally(() => {
        this.dropping.delete(shard);
        ended();
      });
  }
}
