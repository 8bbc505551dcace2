// A bucket whose files were not closed cleanly, while its documents are loaded. This process may have lost acknowledged writes that were only in
// memory, so a member of the in-sync set that still has its memory is promoted in its place: at once, since the load of millions of
// documents takes seconds, during which nobody would serve the shards.
import type { Clock, Timer } from '#ports/clock.ts';
import type { MapChange, MapOutcome, ShardChange, ShardSpec, SyncMember } from '../admin.ts';
import { ContinuedBoots, type ContinuedBootsOptions, firstComplete } from './continued-boots.ts';
import type { ContinuedMessage } from './frames.ts';

export interface WarmingBucketOptions extends Pick<ContinuedBootsOptions, 'peers' | 'uuid'> {
  self: SyncMember;
  change: (change: MapChange) => Promise<MapOutcome>;
  clock: Clock;
}

/** The pause after a change that was not made. */
const retryPauseMs = 500;

export class WarmingBucket {
  private readonly options: WarmingBucketOptions;
  private readonly boots: ContinuedBoots;
  private specs: readonly ShardSpec[] = [];
  private revision = -1;
  private isChanging = false;
  private isClosed = false;
  private retry: Timer | null = null;

  constructor(options: WarmingBucketOptions) {
    this.options = options;
    this.boots = new ContinuedBoots({ ...options, own: [] });
  }

  /** Passes on the shards whose active is this node in the map of this revision, unless the bucket has seen a newer map. */
  follow(specs: readonly ShardSpec[], revision: number): void {
    if (revision < this.revision) return;
    this.revision = revision;
    this.specs = specs;
    this.passShardsOn();
  }

  received(node: string, message: ContinuedMessage): void {
    this.boots.received(node, message);
    this.passShardsOn();
  }

  connected(node: string): void {
    this.boots.connected(node);
    this.passShardsOn();
  }

  disconnected(node: string): void {
    this.boots.disconnected(node);
  }

  close(): void {
    this.isClosed = true;
    this.retry?.cancel();
  }

  private passShardsOn(): void {
    if (this.isClosed || this.isChanging || this.retry !== null) return;
    const changes = this.specs.flatMap((spec, shard) => this.changesOf(spec, shard));
    if (changes.length > 0) void this.change(changes);
  }

  private changesOf(
    { confirmed, epoch, inSync = [], state, stopped = -1 }: ShardSpec,
    shard: number,
  ): ShardChange[] {
    const { self } = this.options;
    const own = inSync.find(({ node }) => node === self.node);
    if (state !== 'active' || [own?.boot, confirmed].includes(self.boot) || epoch <= stopped) return [];
    const successor = firstComplete(
      inSync.filter(({ node }) => node !== self.node),
      this.boots,
    );
    return successor === undefined ? [] : [{ shard, epoch, kind: 'stop', successor: successor.node }];
  }

  private async change(changes: readonly ShardChange[]): Promise<void> {
    const { change, uuid } = this.options;
    this.isChanging = true;
    const outcome = await change({ bucketUuid: uuid, changes });
    this.isChanging = false;
    if (this.isClosed) return;
    if (outcome.kind !== 'done') this.retryLater();
    if ('shards' in outcome) this.follow(outcome.shards, outcome.revision);
  }

  private retryLater(): void {
    this.retry = this.options.clock.after(retryPauseMs, () => {
      this.retry = null;
      this.passShardsOn();
    });
  }
}
