// The management interface of the data service, its only one. The manager sends the desired state (buckets, users, ports, TLS) as
// plain data; the data service applies it and reports the actual state. All types here can cross a thread boundary.

import type { UserSpec } from '#auth/privileges.ts';
import type { OpenPlace } from '#ports/file-place.ts';
import type { TlsSpec } from '#ports/tls.ts';
import type { DataMessage, ServiceMessage } from '#wire/document-batch.ts';
import type { BucketActivity, TrafficFigures } from './activity.ts';
import type { VbucketStateName } from './data/vbucket-state.ts';
import type { DocumentCounts } from './document-counts.ts';
import type { KvCluster, MapChange, MapOutcome, ShardMap, ShardPosition, ShardSpec } from './shards.ts';

export {
  type BucketGrant,
  type DataUserLimits,
  type Grants,
  Privilege,
  type ScramVerifier,
  type UserSpec,
} from '#auth/privileges.ts';
export type { TlsSpec } from '#ports/tls.ts';
export {
  type BucketActivity,
  type DurationFigures,
  type MemoryFigures,
  noTraffic,
  type StreamFigures,
  type TrafficFigures,
} from './activity.ts';
export { type DocumentCounts, noCounts } from './document-counts.ts';
export {
  type KvCluster,
  type MapChange,
  type MapOutcome,
  type PeerSpec,
  type PeerTls,
  promiseMsMax,
  type ShardChange,
  type ShardMap,
  type ShardPosition,
  type ShardSpec,
  type SyncMember,
} from './shards.ts';
export { highWatermarkShare, lowWatermarkShare } from './watermarks.ts';

export type BucketType = 'native' | 'ephemeral' | 'cache';
export type EvictionPolicy = 'valueOnly' | 'fullEviction' | 'noEviction' | 'nruEviction';
export type DurabilityMinLevel = 'none' | 'majority' | 'majorityAndPersistActive' | 'persistToMajority';

/** A collection manifest in the form that clients receive; uids are lower-case hex. */
export interface Manifest {
  uid: string;
  scopes: { name: string; uid: string; collections: { name: string; uid: string; maxTTL?: number }[] }[];
}

export interface BucketSpec {
  name: string;
  uuid: string;
  /** Incremented by every flush of the bucket. */
  incarnation: number;
  /** The bucket's files were created on this node before: if they are missing, they are lost. */
  filesExisted?: boolean;
  type: BucketType;
  quotaBytes: number;
  /** Durable writes need more than half of the active and these copies. */
  replicaNumber: number;
  evictionPolicy: EvictionPolicy;
  /** 8 gives the bucket a larger share of the disk than 3 if several buckets compete. Changing it restarts the bucket. */
  threadsNumber: 3 | 8;
  durabilityMinLevel: DurabilityMinLevel;
  /** Seconds; 0: no limit. */
  maxTtl: number;
  compressionMode: 'off' | 'passive' | 'active';
  conflictResolution: 'seqno' | 'lww';
  /** A CAS that another node made, and that is further than this from this node's clock, is counted. */
  clockDriftMs: { readonly ahead: number; readonly behind: number };
  manifest: Manifest;
  /**
   * One entry per shard; a shard is all vbuckets with the same remainder modulo the number of shards. Omitted: every vbucket is active.
   */
  shards?: readonly ShardSpec[];
  /** Revision of the map that `shards` was read from. */
  mapRevision?: number;
  /** Terse bucket configuration as JSON text, sent unchanged by GET_CLUSTER_CONFIG and with NOT_MY_VBUCKET. */
  clusterConfig: { revEpoch: number; rev: number; json: string };
}

/** The desired state of the data service; each call of `apply` replaces the previous one. */
export interface KvDesired {
  buckets: BucketSpec[];
  /** Uuids of deleted buckets whose files must be removed, also those of an earlier process. No other files are removed. */
  deletedBuckets: string[];
  users: UserSpec[];
  /** Logins of users that are not in `users` are decided outside the data service, as those of external users. Otherwise they are refused. */
  admitsUnknownUsers?: boolean;
  /** Cluster configuration JSON for connections without a bucket, null before provisioning. */
  clusterConfig: { revEpoch: number; rev: number; json: string } | null;
  tls: TlsSpec | null;
  /** Absent while this node is the only one. */
  cluster?: KvCluster;
  /** The unencrypted port accepts only connections from this machine. */
  plainForThisMachineOnly?: boolean;
  /** Addresses and networks from which connections are accepted; null or omitted: all. */
  clients?: readonly string[] | null;
  /** Interval of the expiry pager, which deletes expired documents; 600 by default. */
  expiryPagerSeconds?: number;
  /** Omitted: the defaults. */
  limits?: KvLimits;
  /** Threads for disk work; omitted: one for each kind. */
  threads?: KvThreads;
}

/** `default` is one thread, `disk_io_optimized` one per processor, but at least 4 and at most 64. */
export type ThreadCount = number | 'default' | 'disk_io_optimized';

export interface KvThreads {
  /** Read documents that are not in memory, and history for change streams. */
  readers: ThreadCount;
  /** Shared by the files of all buckets; a change applies to buckets that start afterwards. */
  writers: ThreadCount;
  /** Number of files that are compacted at a time. */
  storage: ThreadCount;
}

/** Limits of the data ports. */
export interface KvLimits {
  /** Connections above this number are closed. */
  connectionsMax: number;
  /** Connections without requests are closed after this time; 0: never. */
  idleSeconds: number;
  /** The data service logs all its messages, also those of level debug, and every connection that opens or closes. */
  logsConnections: boolean;
  /** Features that HELLO does not grant. */
  withheldFeatures?: readonly number[];
}

export interface KvStartOptions {
  dataDir: string;
  host: string;
  port: number;
  tlsPort: number;
  /** Port for the data services of other nodes; omitted: there is none. */
  replicationPort?: number;
  /** If the replication port is in use, another one is opened: the other nodes learn it from the configuration. */
  isReplicationPortPreferred?: boolean;
  plainForThisMachineOnly?: boolean;
  /** The same as `KvDesired.clients`; applies from the first connection. */
  clients?: readonly string[] | null;
  /** The lock file of the data folder: if another file replaces it, the data service stops writing. */
  lock?: OpenPlace;
  /** Version text of the VERSION command. */
  version: string;
  logLevel: string;
  /**
   * Key of the fake salts in SCRAM challenges for unknown user names. It must stay the same over restarts: real users keep their
   * salts, so a changed salt would reveal that a user does not exist. Omitted: random.
   */
  loginSecret?: Uint8Array;
}

/** The ports that the data service listens on. */
export interface KvPorts {
  port: number;
  tlsPort: number;
  replicationPort?: number;
}

/** What a compaction purges, and who started it. */
export interface CompactionRequest {
  /** Tombstones deleted before this time (seconds since 1970) are purged; 0 keeps all, `all` purges all. */
  purgeBeforeSeconds: number | 'all';
  /** Identifies the compaction in reports and for `cancelCompaction`. */
  origin: string;
}

/** Progress of a compaction: `done` of about `total` documents are copied. */
export interface CompactionReport {
  origin: string;
  done: number;
  total: number;
}

/** Progress of a bucket's warm-up. Clients can read and write from state `values` on. */
export interface WarmUpReport {
  state: 'opening' | 'keys' | 'values' | 'done';
  /** Set while the warm-up waits for disk space to open the files: which file, and the error. */
  noSpace?: string;
  /** Documents and tombstones whose key is loaded, and how many of them have their value loaded. */
  keys: number;
  values: number;
  /** Number of documents and tombstones in the files. */
  expected: number;
  /** Duration until all keys were loaded and until the end; while the warm-up runs, the time so far. */
  keysMs: number;
  ms: number;
}

/** States in which a vbucket has documents on this node. */
export type CountedState = Exclude<VbucketStateName, 'dead'>;

export interface VbucketCounts {
  vbuckets: number;
  items: number;
}

export interface BucketReport extends DocumentCounts {
  name: string;
  uuid: string;
  incarnation: number;
  /** `warmup` until documents are readable; `failed` if none of its files could be opened. */
  state: 'warmup' | 'ready' | 'failed';
  /** Files that could not be read. Their vbuckets are not served. */
  damaged: { file: number; path: string; reason: string }[];
  /** Why the bucket refuses writes, or null. */
  writeFailure: string | null;
  items: number;
  memUsed: number;
  dataBytes: number;
  diskBytes: number;
  /** Part of `diskBytes` that a compaction would free. */
  freeDiskBytes: number;
  compaction: CompactionReport | null;
  /** Null in buckets without a disk. */
  warmUp: WarmUpReport | null;
  dirtyItems: number;
  /** All operations on documents since the start (`operationsOf`). */
  ops: number;
  /** Documents read from disk for requests of clients. */
  diskFetches: number;
  /** Values or documents evicted to stay within the quota. */
  evictions: number;
  /** Documents that expired, found by a request or by the pager. */
  expired: number;
  /** Documents whose value is only on disk. */
  nonResident: number;
  /** The vbuckets of this node and their documents, by state. */
  vbuckets: Record<CountedState, VbucketCounts>;
  /** Live items per collection id in lower-case hex. */
  collectionItems: Record<string, number>;
  activity: BucketActivity;
}

export interface RefusedLogin {
  /** Null for an unknown user name, which is not reported: it may be a password in the wrong field. */
  user: string | null;
  /** Address of the client. */
  from: string;
}

export interface KvReport {
  buckets: BucketReport[];
  connections: number;
  traffic: TrafficFigures;
}

/** A request to verify the password of an external user; `answerExternalLogin` answers it by its id. */
export interface ExternalLogin {
  id: number;
  name: string;
  password: string;
}

/** A request to the manager to change a bucket's map; `answerMapChange` answers it by its id. */
export interface MapRequest {
  id: number;
  change: MapChange;
}

/** The data service's end of a message channel to a service of the same process (queries, indexes) that reads documents in batches. */
export interface BatchPort {
  on(event: 'message', listener: (message: ServiceMessage) => void): unknown;
  /** The service has ended. */
  on(event: 'close', listener: () => void): unknown;
  postMessage(reply: DataMessage, transferred: readonly ArrayBuffer[]): void;
  unref(): void;
}

/**
 * The data service as the manager controls it. Times are in milliseconds or seconds and sizes in bytes, as the field names say.
 *
 *     const ports = await kv.start({ dataDir, host: '127.0.0.1', port: 11210, tlsPort: 11207, version, logLevel: 'info' });
 *     const report = await kv.apply({ buckets: [spec], deletedBuckets: [], users, clusterConfig: null, tls: null });
 *     await kv.stop();
 *
 * When the data service runs in a thread, every method also rejects with an Error if that thread has ended.
 */
export interface KvAdmin {
  /**
   * Opens the ports; without buckets until the first `apply`. Called once.
   * @throws Error with the code of the system (`EADDRINUSE`, `EACCES`, …) if a port cannot be opened; no port stays open then.
   */
  start(options: KvStartOptions): Promise<KvPorts>;
  /**
   * Applies the desired state; calls are applied one after the other. Resolves when the files of removed buckets are deleted and
   * new buckets are ready or failed, but at most two seconds after their start: a large bucket may still be warming up, as its
   * report says. A bucket that cannot be started or restarted has state `failed` in the report; it does not reject the call.
   * @throws Error if the data service is stopping, the unencrypted port cannot be opened again, or files of a deleted bucket cannot
   * be removed. The state is then partly applied: call it again.
   */
  apply(desired: KvDesired): Promise<KvReport>;
  /**
   * Applies a bucket's new map before the rest of the desired state, because handovers of shards wait for it. Does nothing if the bucket is
   * not served yet.
   */
  followMap(map: ShardMap): Promise<void>;
  /** The actual state and all counters; of all buckets, or of one. */
  report(bucketUuid?: string): Promise<KvReport>;
  /** Answers a verification request for an external user; unknown ids are ignored. */
  answerExternalLogin(id: number, isRight: boolean): Promise<void>;
  /** Answers a request to change a map; unknown ids are ignored. */
  answerMapChange(id: number, outcome: MapOutcome): Promise<void>;
  /** A random key of the default collection; null if the collection is empty or the bucket is unknown or not ready. */
  randomKey(bucket: string): Promise<string | null>;
  /** The positions of this node's copies, by shard; empty while the bucket is unknown or not ready. */
  shardPositions(bucketUuid: string): Promise<(ShardPosition | null)[]>;
  /** Starts a compaction and returns at once. Does nothing if one is running or the bucket is unknown. */
  compact(bucketUuid: string, request: CompactionRequest): Promise<void>;
  /** Cancels the compaction with this origin; without an origin, any compaction of the bucket. */
  cancelCompaction(bucketUuid: string, origin?: string): Promise<void>;
  /** Reads documents in batches for a service of this process, which may read all documents. The port is transferred. */
  serveBatches(port: BatchPort): Promise<void>;
  /** Stops accepting connections, persists all changes, sends the last replies and closes the files. Called once. */
  stop(): Promise<void>;
}
