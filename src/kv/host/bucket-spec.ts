// What the spec of a bucket means to its engine: the rules for its documents, and where its files are.
import type { OpenPlace } from '#ports/file-place.ts';
import type { BucketSpec, DurabilityMinLevel } from '../admin.ts';
import type { BucketRules } from '../bucket/rules.ts';
import type { BucketFiles, DiskEngine } from '../data/disk-engine.ts';
import { DurabilityLevel } from '../data/documents.ts';

const filesPerBucket = 4;

const levels: Record<DurabilityMinLevel, DurabilityLevel> = {
  none: DurabilityLevel.none,
  majority: DurabilityLevel.majority,
  majorityAndPersistActive: DurabilityLevel.majorityAndPersistActive,
  persistToMajority: DurabilityLevel.persistToMajority,
};

export const rulesOf = (spec: BucketSpec): BucketRules => ({
  quotaBytes: spec.quotaBytes,
  maxTtl: spec.maxTtl,
  durabilityMinLevel: levels[spec.durabilityMinLevel],
  replicaNumber: spec.replicaNumber,
  clockDriftMs: spec.clockDriftMs,
  compresses: spec.compressionMode === 'active',
});

interface Storage {
  disk: DiskEngine;
  folder: string;
  /** The lock file of the data folder. */
  lock?: OpenPlace | undefined;
}

export const storageOf = (spec: BucketSpec, { disk, folder, lock }: Storage) => ({
  disk,
  files: {
    ...bucketFiles(folder, spec.uuid, spec.incarnation),
    filesExisted: spec.filesExisted ?? false,
    ...(lock && { lock }),
  },
});

/** The files of a bucket in the parent folder. */
export const bucketFiles = (folder: string, uuid: string, incarnation: number): BucketFiles => ({
  folder: `${folder}/${uuid}`,
  bucketUuid: uuid,
  incarnation,
  fileCount: filesPerBucket,
});

/** A bucket with the same name but another uuid is another bucket. */
export const isWanted = (
  { name, uuid }: Pick<BucketSpec, 'name' | 'uuid'>,
  specs: readonly BucketSpec[],
): boolean => specs.some((spec) => spec.name === name && spec.uuid === uuid);
