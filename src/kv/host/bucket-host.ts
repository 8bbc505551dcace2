// One bucket of the wanted state made real: its engine started, changed, emptied and taken away, while the pipeline
// serves it or refuses for it.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { BucketReport, BucketSpec, DurabilityMinLevel } from '../admin.ts';
import { Bucket } from '../bucket/bucket.ts';
import { DurabilityLevel } from '../bucket/documents.ts';
import type { BucketRules } from '../bucket/rules.ts';
import type { BucketFiles, DiskEngine, DiskSizes } from '../disk/engine.ts';
import { type EngineFigures, ServedBucket } from '../dispatch/served-bucket.ts';
import type { Now } from '../vbucket/now.ts';

export const filesPerBucket = 4;

export interface BucketHostOptions {
  clock: Clock;
  random: Random;
  log: Log;
  now: Now;
  disk: DiskEngine;
  /** Where bucket folders are. */
  folder: string;
}

const levels: Record<DurabilityMinLevel, DurabilityLevel> = {
  none: DurabilityLevel.none,
  majority: DurabilityLevel.majority,
  majorityAndPersistActive: DurabilityLevel.majorityAndPersistActive,
  persistToMajority: DurabilityLevel.persistToMajority,
};

const rulesOf = (spec: BucketSpec): BucketRules => ({
  quotaBytes: spec.quotaBytes,
  maxTtl: spec.maxTtl,
  durabilityMinLevel: levels[spec.durabilityMinLevel],
  replicaNumber: spec.replicaNumber,
});

export class BucketHost {
  readonly served: ServedBucket;
  private readonly bucket: Bucket;
  private readonly log: Log;
  private sizes: DiskSizes = { fileBytes: 0, dataBytes: 0 };
  private failure: string | null = null;
  private incarnation: number;

  constructor(spec: BucketSpec, options: BucketHostOptions) {
    this.served = new ServedBucket(spec);
    this.log = options.log;
    this.incarnation = spec.incarnation;
    this.bucket = new Bucket({
      type: spec.type,
      rules: rulesOf(spec),
      evictionPolicy: spec.evictionPolicy,
      manifest: spec.manifest,
      ...(spec.type === 'native' ? { storage: storageOf(spec, options) } : {}),
      now: options.now,
      clock: options.clock,
      random: options.random,
      log: options.log,
    });
  }

  /** Loads the documents and serves them. A bucket that cannot be loaded says so in its report. */
  async start(): Promise<void> {
    const { bucket, served } = this;
    try {
      await bucket.start();
      for (const damage of bucket.damaged)
        this.log.error('bucket.damaged', { bucket: served.name, ...damage });
      if (bucket.state === 'ready') this.open();
    } catch (error) {
      this.fail('bucket.start_failed', error);
    }
  }

  /** Follows the wanted state; answers whether its cluster configuration changed. */
  async follow(spec: BucketSpec): Promise<boolean> {
    const { bucket, served } = this;
    const hasNewManifest = spec.manifest.uid !== served.spec.manifest.uid;
    const hasNewConfig = served.update(spec);
    bucket.setRules(rulesOf(spec));
    if (hasNewManifest) bucket.applyManifest(spec.manifest);
    if (spec.incarnation !== this.incarnation) await this.flush(spec.incarnation);
    return hasNewConfig;
  }

  async stop(): Promise<void> {
    await this.bucket.stop();
    this.served.close();
  }

  /** Takes the bucket away with its files. */
  async destroy(): Promise<void> {
    this.served.close();
    await this.bucket.destroy();
  }

  async report(): Promise<BucketReport> {
    const { bucket, served } = this;
    if (served.documents) this.sizes = await bucket.diskSizes().catch(() => this.sizes);
    const { name, uuid } = served;
    const damaged = bucket.damaged.map(({ file, path, reason }) => ({ file, path, reason }));
    return {
      name,
      uuid,
      incarnation: this.incarnation,
      state: this.failure === null ? bucket.state : 'failed',
      damaged,
      writeFailure: this.failure ?? bucket.writeFailure,
      ...served.report(),
      ...this.figures(),
    };
  }

  private async flush(incarnation: number): Promise<void> {
    this.served.close();
    try {
      await this.bucket.flush(incarnation);
      this.incarnation = incarnation;
      if (this.bucket.state === 'ready') this.open();
    } catch (error) {
      this.fail('bucket.flush_failed', error);
    }
  }

  private open(): void {
    const { bucket } = this;
    this.served.open({
      documents: bucket.documents,
      changes: this.served.spec.type === 'cache' ? null : bucket.changes,
      figures: () => this.figures(),
      findRandom: (collectionId, view) => bucket.findRandom(collectionId, view),
    });
  }

  private figures(): EngineFigures {
    const { tombstones: _, ...figures } = this.bucket.stats();
    const { dataBytes, fileBytes } = this.sizes;
    return { ...figures, dataBytes, diskBytes: fileBytes };
  }

  private fail(event: string, error: unknown): void {
    this.failure = error instanceof Error ? error.message : String(error);
    this.log.error(event, { bucket: this.served.name, reason: this.failure });
  }
}

const storageOf = (spec: BucketSpec, { disk, folder }: BucketHostOptions) => ({
  disk,
  files: bucketFiles(folder, spec.uuid, spec.incarnation),
});

/** The files of a bucket in the folder of all. */
export const bucketFiles = (folder: string, uuid: string, incarnation: number): BucketFiles => ({
  folder: `${folder}/${uuid}`,
  bucketUuid: uuid,
  incarnation,
  fileCount: filesPerBucket,
});
