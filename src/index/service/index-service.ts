// The index service of one node: makes its indexes follow the desired state, and reports. It runs in the index thread, or in that of a
// test.
import { type ClusterLayout, ClusterRoutes } from '#client/cluster-routes.ts';
import type { WireAccount, WireAddress } from '#client/wire-address.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import type { CompiledDefinition } from '../entries/compiled-definition.ts';
import type { IndexReport, WantedIndexes } from '../index.contract.ts';
import { noScans } from '../index-progress.ts';
import type { IndexStore } from '../store/index-store.ts';
import { BucketIndexes } from './bucket-indexes.ts';
import { type MemoryShares, memoryShares } from './memory-shares.ts';

export interface IndexServiceOptions {
  readonly address: WireAddress;
  readonly account: WireAccount;
  readonly store: IndexStore;
  readonly compile: (definition: IndexDefinition) => CompiledDefinition;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called when the reports have changed. */
  readonly changed: () => void;
}

export class IndexService {
  private readonly options: IndexServiceOptions;
  private readonly buckets = new Map<string, BucketIndexes>();
  private wanted: WantedIndexes = { indexes: [], memoryQuotaBytes: 0, place: null };
  private isSwept = false;
  private isStopped = false;
  private routes: ClusterRoutes | null = null;

  constructor(options: IndexServiceOptions) {
    this.options = options;
  }

  /** Resolves when the wanted indexes exist, or newer ones are wanted; builds continue after it. */
  async apply(wanted: WantedIndexes): Promise<void> {
    this.wanted = wanted;
    this.sweep();
    const byBucket = new Map<string, IndexDefinition[]>();
    for (const { definition, isBuilt } of wanted.indexes) {
      if (!isBuilt) continue;
      const { bucketUuid } = definition.keyspace;
      byBucket.set(bucketUuid, [...(byBucket.get(bucketUuid) ?? []), definition]);
    }
    const unused = [...this.buckets].filter(([uuid]) => !byBucket.has(uuid));
    await Promise.all(unused.map(([uuid, bucket]) => this.removeBucket(uuid, bucket)));
    if (this.wanted !== wanted || this.isStopped) return;
    for (const bucket of this.buckets.values()) bucket.limitCaches();
    await Promise.all(
      [...byBucket].map(([uuid, definitions]) => this.bucketOf(uuid, definitions).setIndexes(definitions)),
    );
  }

  /** Sets which nodes have which vbuckets; null: this one has all. */
  async followCluster(layout: ClusterLayout | null): Promise<void> {
    if (layout !== null && this.routes !== null) {
      this.routes.set(layout);
      return;
    }
    if (layout === null && this.routes === null) return;
    this.routes = layout && new ClusterRoutes(layout);
    await Promise.all([...this.buckets.values()].map((bucket) => bucket.reconnect()));
  }

  report(): IndexReport[] {
    const deferred = this.wanted.indexes.filter(({ isBuilt }) => !isBuilt).map(deferredReport);
    return [...deferred, ...[...this.buckets.values()].flatMap((bucket) => bucket.report())];
  }

  async replaceFile(bucketUuid: string, id: string): Promise<void> {
    await this.buckets.get(bucketUuid)?.replaceFile(id);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all([...this.buckets.values()].map((bucket) => bucket.stop()));
    this.buckets.clear();
  }

  /** Stops the indexes of a bucket without definitions and removes their files. */
  private async removeBucket(uuid: string, bucket: BucketIndexes): Promise<void> {
    await bucket.setIndexes([]);
    // Indexes of the bucket may be wanted again meanwhile: the same object opens their files after it has removed them.
    if (this.buckets.get(uuid) !== bucket || bucket.isWanted) return;
    this.buckets.delete(uuid);
    await bucket.stop();
  }

  private bucketOf(uuid: string, [first]: readonly IndexDefinition[]): BucketIndexes {
    let bucket = this.buckets.get(uuid);
    if (bucket === undefined) {
      const name = (first as IndexDefinition).keyspace.name.bucket;
      bucket = new BucketIndexes({
        ...this.options,
        bucket: { name, uuid },
        routes: () => this.routes,
        shares: () => this.shares(),
      });
      this.buckets.set(uuid, bucket);
    }
    return bucket;
  }

  /** The current shares; they change with every index and every build. */
  private shares(): MemoryShares {
    const files = this.wanted.indexes.filter(({ isBuilt }) => isBuilt).length;
    const built = [...this.buckets.values()].reduce((sum, bucket) => sum + bucket.onlineCount, 0);
    return memoryShares(this.wanted.memoryQuotaBytes, { files, builds: files - built });
  }

  /** Removes files whose definition was dropped while the service did not run. */
  private sweep(): void {
    if (this.isSwept) return;
    this.isSwept = true;
    const wantedIds = new Set(this.wanted.indexes.map(({ definition }) => definition.id));
    for (const { bucketUuid, indexId } of this.options.store.list()) {
      if (!wantedIds.has(indexId)) this.options.store.remove(bucketUuid, indexId);
    }
  }
}

const deferredReport = ({ definition }: { definition: IndexDefinition }): IndexReport => ({
  id: definition.id,
  state: 'deferred',
  progress: 0,
  documentsProcessed: 0,
  documentsWaiting: 0,
  leftOut: 0,
  fileBytes: 0,
  generation: 0,
  ...noScans,
});
