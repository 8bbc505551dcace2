// The buckets of this node: starts, changes and removes them as the desired state says.
import type { BucketSpec, KvDesired } from '../admin.ts';
import type { ServedBucket } from '../served/served-bucket.ts';
import { BucketHost, type BucketHostOptions } from './bucket-host.ts';
import { bucketFiles, isWanted } from './bucket-spec.ts';
import type { TriedSteps } from './tried-steps.ts';

export interface BucketHostsOptions {
  bucket: BucketHostOptions;
  /** Called with a bucket before it starts. */
  added: (served: ServedBucket) => void;
  /** Called with a bucket before its files are removed. */
  removed: (served: ServedBucket) => void;
  /** Called with a bucket whose configuration for clients has changed. */
  configChanged: (served: ServedBucket) => void;
}

export class BucketHosts {
  /** By name. */
  readonly all = new Map<string, BucketHost>();
  private readonly options: BucketHostsOptions;

  constructor(options: BucketHostsOptions) {
    this.options = options;
  }

  of(bucketUuid: string): BucketHost | undefined {
    return [...this.all.values()].find(({ served }) => served.uuid === bucketUuid);
  }

  /** The present starts of all buckets. */
  starts(): Promise<void>[] {
    return [...this.all.values()].map(({ started }) => started);
  }

  /** Removes the buckets that are not wanted, with their files, and the files of deleted buckets. */
  async keepOnly(
    { buckets, deletedBuckets }: Pick<KvDesired, 'buckets' | 'deletedBuckets'>,
    steps: TriedSteps,
  ): Promise<void> {
    const removed = [...this.all.values()].filter(({ served }) => !isWanted(served, buckets));
    await Promise.all(removed.map((host) => steps.try(this.remove(host))));
    // An earlier process may have ended before it finished a deletion, which removes the files of all incarnations.
    const { disk, folder } = this.options.bucket;
    const files = deletedBuckets.map((uuid) => bucketFiles(folder, uuid, 0));
    await Promise.all(files.map((ofBucket) => steps.try(disk.destroy(ofBucket))));
  }

  /** Applies the spec of a bucket, which is new or has its name and uuid. Does not wait for the start of a new one. */
  async follow(spec: BucketSpec, expiryPagerSeconds: number): Promise<void> {
    const existing = this.all.get(spec.name);
    if (existing) {
      if (await existing.follow(spec)) this.options.configChanged(existing.served);
      return;
    }
    const host = new BucketHost(spec, this.options.bucket);
    host.expireEvery(expiryPagerSeconds);
    this.all.set(spec.name, host);
    this.options.added(host.served);
    void host.start();
  }

  private async remove(host: BucketHost): Promise<void> {
    this.all.delete(host.served.name);
    this.options.removed(host.served);
    await host.destroy();
  }
}
