// Reads a form into a bucket: every rule runs, so that a client gets all problems at once.
import type { Form } from '#contract/route.ts';
import type {
  BucketsState,
  ClusterAutoCompaction,
  Edition,
  StoredBucket,
  Vocabulary,
} from '../../config/cluster-state.ts';
import { Problems } from '../../forms/problems.ts';
import { bucketCompaction } from './bucket-compaction.ts';
import { bucketName, bucketType } from './identity.ts';
import {
  compressionMode,
  conflictResolutionType,
  driftThresholdMs,
  evictionPolicy,
  flushEnabled,
  maxTtlSeconds,
  threadsNumber,
} from './policies.ts';
import { quotaKey, ramQuotaMb, sentOtherQuotasMb } from './quota.ts';
import { durabilityMinLevel, replicaIndex, replicaNumber, replicaWarning } from './replicas.ts';
import type { RuleInput } from './rule-input.ts';
import { historyRetention, pointInTimeRecovery, storageBackend, vbucketNumber } from './unavailable.ts';

export interface RuleContext {
  buckets: BucketsState;
  edition: Edition;
  /** The vocabulary of buckets that are created without an explicit type. */
  wireNames: Vocabulary;
  /** The number of nodes with the data service. */
  dataNodes: number;
  /** Megabytes that the edited bucket's documents take now, as the mean of the data nodes. */
  usedMb: number;
  /** The cluster's settings. */
  compaction: ClusterAutoCompaction;
}

/** All fields except those that the service generates. */
export type BucketChoices = Omit<StoredBucket, 'uuid' | 'incarnation' | 'state' | 'placedReplicas'>;

export interface ReadBucket {
  choices: BucketChoices;
  /** Requested megabytes per node; null if that was not a usable number. */
  quotaMb: number | null;
  /** Megabytes per node of all other buckets. */
  othersMb: number;
  problems: Problems;
  /** A warning in addition to the problems; null if none. */
  warning: string | null;
}

export function readNewBucket(form: Form, context: RuleContext): ReadBucket {
  const problems = new Problems();
  const name = bucketName(form['name'], Object.values(context.buckets.byUuid), problems);
  const { type, vocabulary } = bucketType(form['bucketType'], context.wireNames, problems);
  const { edition, compaction } = context;
  const input = { form, present: null, type, vocabulary, edition, compaction, problems };
  return readParameters(input, name, context);
}

/** Name, type and other properties fixed at creation are ignored, as published. */
export function readChangedBucket(form: Form, present: StoredBucket, context: RuleContext): ReadBucket {
  const { type, vocabulary } = present;
  const problems = new Problems();
  const { edition, compaction } = context;
  const input = { form, present, type, vocabulary, edition, compaction, problems };
  return readParameters(input, present.name, context);
}

function readParameters(input: RuleInput, name: string, context: RuleContext): ReadBucket {
  const { problems, present, type, vocabulary } = input;
  const quotaMb = ramQuotaMb(input);
  const othersMb = sentOtherQuotasMb(input) + bucketQuotasMb(context.buckets, present);
  checkRoom(input, quotaMb, othersMb, context);
  const replicas = replicaNumber(input);
  const resolution = conflictResolutionType(input);
  storageBackend(input);
  pointInTimeRecovery(input);
  historyRetention(input);
  vbucketNumber(input);
  const choices: BucketChoices = {
    name,
    vocabulary,
    type,
    ramQuotaMb: quotaMb ?? 0,
    replicaNumber: replicas,
    replicaIndex: replicaIndex(input, replicas),
    evictionPolicy: evictionPolicy(input),
    durabilityMinLevel: durabilityMinLevel(input, replicas, context.dataNodes),
    threadsNumber: threadsNumber(input),
    compressionMode: compressionMode(input),
    maxTtlSeconds: maxTtlSeconds(input),
    conflictResolutionType: resolution,
    driftAheadThresholdMs: driftThresholdMs(input, 'driftAheadThresholdMs', resolution === 'lww'),
    driftBehindThresholdMs: driftThresholdMs(input, 'driftBehindThresholdMs', resolution === 'lww'),
    flushEnabled: flushEnabled(input),
    ...bucketCompaction(input),
  };
  return {
    choices,
    quotaMb,
    othersMb,
    problems,
    warning: replicaWarning(input, replicas, context.dataNodes),
  };
}

/** The sum of the quotas of all buckets but `except`. A bucket being deleted still holds its memory. */
export function bucketQuotasMb(buckets: BucketsState, except: StoredBucket | null): number {
  return Object.values(buckets.byUuid)
    .filter((bucket) => bucket.uuid !== except?.uuid)
    .reduce((sum, bucket) => sum + bucket.ramQuotaMb, 0);
}

function checkRoom(input: RuleInput, quotaMb: number | null, othersMb: number, context: RuleContext): void {
  if (quotaMb === null) return;
  const key = quotaKey(input);
  if (context.buckets.memoryQuotaMb - othersMb - quotaMb < 0) {
    input.problems.add(key, 'RAM quota specified is too large to be provisioned into this cluster.');
  } else if (input.present && quotaMb < input.present.ramQuotaMb && quotaMb < context.usedMb) {
    input.problems.add(key, 'RAM quota cannot be set below current usage.');
  }
}
