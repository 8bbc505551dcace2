// The features that tests request by HELLO, as published clients do.
import { Feature } from '#wire/features.ts';

/** Features of published clients, without those that change the order of replies or push messages. */
export const usualFeatures: readonly number[] = [
  Feature.mutationSeqno,
  Feature.xattr,
  Feature.xerror,
  Feature.selectBucket,
  Feature.snappy,
  Feature.json,
  Feature.altRequest,
  Feature.syncReplication,
  Feature.collections,
  Feature.preserveTtl,
  Feature.virtualXattr,
  Feature.createAsDeleted,
];

/** All features of published clients but duplex and unordered execution: only replies arrive, in order. */
export const clientFeatures: readonly number[] = [
  ...usualFeatures,
  Feature.tcpNoDelay,
  Feature.subdocReplicaRead,
  Feature.dedupeNotMyVbucket,
  Feature.subdocBinaryXattr,
];
