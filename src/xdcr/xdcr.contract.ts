// The interface of replication between clusters, in plain data. The cluster manager stores references and replications and sends the
// whole desired state; the XDCR thread reports figures and errors, and asks for checkpoints.

import type { ClientCertificate } from '#client/wire-address.ts';
import type { CollectionMapping } from './mapping/mapping.contract.ts';

/** In descending order. */
export const priorities = ['High', 'Medium', 'Low'] as const;
export type Priority = (typeof priorities)[number];

/** From the fewest lines to the most. */
export const replicationLogLevels = ['Fatal', 'Error', 'Warn', 'Info', 'Debug', 'Trace'] as const;
export type ReplicationLogLevel = (typeof replicationLogLevels)[number];

export type ConflictResolution = 'seqno' | 'lww';

/** How the nodes of another cluster are reached. */
export interface TargetAccess {
  /** A node that answers with another uuid has left the cluster, and is not used. */
  readonly clusterUuid: string;
  /** `host:port` of the REST ports of its nodes, the configured one first. */
  readonly hosts: readonly string[];
  readonly username: string;
  readonly password: string;
  /** PEM of the authority of its certificates; present: REST calls use TLS. */
  readonly authority?: string;
  /** The connections that send documents use TLS as well. */
  readonly encryptsData: boolean;
  /** In the place of username and password. */
  readonly clientCertificate?: ClientCertificate;
  readonly usesAlternateAddresses: boolean;
}

/** Settings of a replication that its data path uses, under their published names. */
export interface DataPathSettings {
  /** Seconds. */
  readonly checkpointInterval: number;
  /** Documents that one connection to the target may have in flight. */
  readonly workerBatchSize: number;
  /** KiB that one connection to the target may have in flight. */
  readonly docBatchSizeKb: number;
  /** Seconds. */
  readonly failureRestartInterval: number;
  /** Bytes; for larger documents the version at the target is requested first. */
  readonly optimisticReplicationThreshold: number;
  /** Connections with change streams of the source. */
  readonly sourceNozzlePerNode: number;
  /** Connections to each node of the target. */
  readonly targetNozzlePerNode: number;
  /** Milliseconds. */
  readonly statsInterval: number;
  /** MiB per second of all nodes of the source together; 0: no limit. */
  readonly networkUsageLimit: number;
  /** Documents that wait longer, in ms, make replications of a lower priority send less. */
  readonly desiredLatency: number;
  readonly priority: Priority;
  readonly logLevel: ReplicationLogLevel;
  readonly compressionType: 'Auto' | 'None';
  /** Documents are sent without their expiry. */
  readonly filterBypassExpiry: boolean;
  /** Deletions are not sent. */
  readonly filterDeletion: boolean;
  /** Expirations are not sent. */
  readonly filterExpiration: boolean;
  /** Deletions that the filter expression matches are sent in spite of `filterDeletion`. */
  readonly filterDeletionsWithExpression: boolean;
  /** Expirations that the filter expression matches are sent in spite of `filterExpiration`. */
  readonly filterExpirationsWithExpression: boolean;
  /** Documents with staged changes are not sent; otherwise they are sent without these changes. */
  readonly filterBypassUncommittedTxn: boolean;
  /** Documents that are not JSON are not sent. */
  readonly filterBinary: boolean;
  /** Documents that the expression does not match are left out; empty: no filter. */
  readonly filterExpression: string;
}

export interface WantedReplication {
  /** `<uuid of the target cluster>/<source bucket>/<target bucket>`. */
  readonly id: string;
  readonly source: { readonly bucket: string; readonly uuid: string };
  readonly target: { readonly bucket: string; readonly access: TargetAccess };
  readonly conflictResolution: ConflictResolution;
  readonly settings: DataPathSettings;
  readonly isPaused: boolean;
  /** The epoch of the present filter, then those of earlier filters whose checkpoints it continues. */
  readonly filterEpochs: readonly string[];
  readonly mapping: CollectionMapping;
  /** Earlier mappings. A checkpoint of one of them stays valid: only the routes that the earlier mapping did not have are replicated from the start. */
  readonly formerMappings: readonly CollectionMapping[];
}

/** The replicated position of one vbucket of the source, and the position of the target then. The vbucket uuids, numbers of 64 bits, are decimal texts. */
export interface VbCheckpoint {
  readonly vb: number;
  readonly uuid: string;
  readonly seqno: number;
  readonly snapshotStart: number;
  readonly snapshotEnd: number;
  readonly targetUuid: string;
  readonly targetSeqno: number;
}

/** Checkpoints of the vbuckets of one shard. */
export interface ShardCheckpoint {
  readonly shard: number;
  /** Valid only for these two buckets. */
  readonly sourceBucketUuid: string;
  readonly targetBucketUuid: string;
  /** Identifies the filter that decided which documents were left out. */
  readonly filterEpoch: string;
  /** The id of the mapping; see `mappingId`. */
  readonly mapping: string;
  readonly vbuckets: readonly VbCheckpoint[];
  /** Ids of routes with documents that were left out: the target does not have the collection yet, or created it later, or the route is new. */
  readonly skipped: readonly string[];
  /** The highest id that a collection of the target had then; absent in checkpoints of earlier versions. */
  readonly newestTargetCollection?: number;
}

/** Where checkpoints are kept. */
export interface CheckpointStore {
  load(replication: string): Promise<readonly ShardCheckpoint[]>;
  save(replication: string, checkpoint: ShardCheckpoint): Promise<void>;
}

/** Counts since the start of the process, and states, by their published names. */
export type ReplicationFigures = Readonly<Record<string, number>>;

export interface ReplicationError {
  readonly timeMs: number;
  readonly text: string;
}

export interface ReplicationReport {
  readonly id: string;
  /** Whether change streams and connections to the target are open. */
  readonly isConnected: boolean;
  readonly figures: ReplicationFigures;
  /** The newest first. */
  readonly errors: readonly ReplicationError[];
}

/** The data path, as the cluster manager uses it. */
export interface XdcrAdmin {
  /** Where checkpoints are kept. Called once, before `apply`. */
  useCheckpoints(store: CheckpointStore): void;
  /** Sets the whole desired state. Returns at once. */
  apply(wanted: readonly WantedReplication[]): void;
  /** The last reports. */
  reports(): readonly ReplicationReport[];
}
