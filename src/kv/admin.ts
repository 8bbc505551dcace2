// The one door to the data service. The manager states what should be (buckets, users, ports, TLS) as plain data, as often
// as it likes; the data service makes it so and reports what is. Everything here can cross a thread boundary.

import type { UserSpec } from '#auth/privileges.ts';
import type { OpenPlace } from '#ports/file-place.ts';
import type { TlsSpec } from '#ports/tls.ts';
import type { BucketActivity, DocumentCounts, TrafficFigures } from './activity.ts';

export {
  type BucketGrant,
  type Grants,
  Privilege,
  type ScramVerifier,
  type UserSpec,
} from '#auth/privileges.ts';
export type { TlsSpec } from '#ports/tls.ts';
export {
  type BucketActivity,
  type DocumentCounts,
  type DurationFigures,
  highShare,
  lowShare,
  type MemoryFigures,
  noCounts,
  noTraffic,
  type StreamFigures,
  type TrafficFigures,
} from './activity.ts';

export type BucketType = 'native' | 'ephemeral' | 'cache';
export type EvictionPolicy = 'valueOnly' | 'fullEviction' | 'noEviction' | 'nruEviction';
export type DurabilityMinLevel = 'none' | 'majority' | 'majorityAndPersistActive' | 'persistToMajority';

/** A collection manifest as the data port sends it; uids are lower-case hex. */
export interface Manifest {
  uid: string;
  scopes: { name: string; uid: string; collections: { name: string; uid: string; maxTTL?: number }[] }[];
}

export interface BucketSpec {
  name: string;
  uuid: string;
  /** Raised by every flush. */
  incarnation: number;
  /** Its files were made on this node: when they are missing, they are lost. */
  wasMade?: boolean;
  type: BucketType;
  quotaBytes: number;
  replicaNumber: number;
  evictionPolicy: EvictionPolicy;
  /** 8 gives the bucket the larger share of the disk where several compete. A change of this or of the policy restarts it. */
  threadsNumber: 3 | 8;
  durabilityMinLevel: DurabilityMinLevel;
  /** Seconds, 0 = off. */
  maxTtl: number;
  compressionMode: 'off' | 'passive' | 'active';
  conflictResolution: 'seqno' | 'lww';
  manifest: Manifest;
  /** Terse bucket configuration as JSON text, sent as it is by GET_CLUSTER_CONFIG and with NOT_MY_VBUCKET. */
  clusterConfig: { revEpoch: number; rev: number; json: string };
}

/** The wanted state; each call replaces the last. */
export interface KvDesired {
  buckets: BucketSpec[];
  /** Uuids of deleted buckets whose files are to go, also those of an earlier process. No other files are removed. */
  leaving: string[];
  users: UserSpec[];
  /** Cluster-level configuration JSON for connections without a bucket, null before provisioning. */
  clusterConfig: { revEpoch: number; rev: number; json: string } | null;
  tls: TlsSpec | null;
  /** The plain port is open to this machine alone. */
  plainForThisMachineOnly?: boolean;
  /** Addresses and networks that connections are taken from; null or left out: everywhere. */
  clients?: readonly string[] | null;
  /** How often all documents are looked through for expired ones; 600 s when left out. */
  expiryPagerSeconds?: number;
  /** As on a fresh node when left out. */
  limits?: KvLimits;
  /** How many threads may work on files; one for each work when left out. */
  threads?: KvThreads;
}

/** One thread by default, `disk_io_optimized` as many as the machine has processors. */
export type ThreadCount = number | 'default' | 'disk_io_optimized';

export interface KvThreads {
  /** Of documents that are not in memory, and of histories. */
  readers: ThreadCount;
  /** Shared by the files of all buckets; a change holds for buckets that start afterwards. */
  writers: ThreadCount;
  /** Copies of files that compactions make at a time. */
  storage: ThreadCount;
}

/** Limits of the data ports. */
export interface KvLimits {
  /** Clients above this many are hung up on. */
  connectionsMax: number;
  /** Clients that ask for nothing this long are hung up on; 0: never. */
  idleSeconds: number;
  /** Log everything, and connections as they come and go. */
  logsConnections: boolean;
}

export interface KvStartOptions {
  dataDir: string;
  host: string;
  port: number;
  tlsPort: number;
  plainForThisMachineOnly?: boolean;
  /** As in the wanted state, from the first connection on. */
  clients?: readonly string[] | null;
  /** The lock of the data folder: once another file is in its place, nothing is written any more. */
  lock?: OpenPlace;
  /** Version text of the VERSION command. */
  version: string;
  logLevel: string;
  /**
   * Decides what the logins of names that nobody has look like. The same at each start: else a restart would tell them from
   * those of users, who keep their salt. Made up when left out.
   */
  loginSecret?: Uint8Array;
}

/** The ports that really listen. */
export interface KvPorts {
  port: number;
  tlsPort: number;
}

/** Asks for a compaction. */
export interface CompactOrder {
  /** Tombstones of deletions before this second go; 0 keeps them all. */
  purgeBeforeSeconds: number | 'all';
  /** Whose compaction it is: told back in reports, and named to call it off. */
  origin: string;
}

/** A compaction under way: documents copied of about how many. */
export interface CompactionReport {
  origin: string;
  done: number;
  total: number;
}

/** How far a bucket's start is: it is read and written from `values` on. */
export interface WarmUpReport {
  state: 'opening' | 'keys' | 'values' | 'done';
  /** Documents and tombstones whose key is in memory, or known to be on disk; of them those with their value. */
  keys: number;
  values: number;
  /** How many the files hold. */
  expected: number;
  /** Time until all keys were there, and until the end; both so far while it lasts. */
  keysMs: number;
  ms: number;
}

export interface BucketReport extends DocumentCounts {
  name: string;
  uuid: string;
  incarnation: number;
  /** `warmup` until documents are readable; `failed` when no file of it could be opened. */
  state: 'warmup' | 'ready' | 'failed';
  /** Files that could not be read, and why. The vbuckets in them are not served. */
  damaged: { file: number; path: string; reason: string }[];
  /** Why the bucket takes no writes, when it does not. */
  writeFailure: string | null;
  items: number;
  memUsed: number;
  dataBytes: number;
  diskBytes: number;
  /** Of the bytes on disk, what compaction would give back. */
  freeDiskBytes: number;
  compaction: CompactionReport | null;
  /** Null in buckets without a disk. */
  warmUp: WarmUpReport | null;
  dirtyItems: number;
  /** All operations on documents since start, as clients count them. */
  ops: number;
  /** Documents read from disk because a client asked for them. */
  diskFetches: number;
  /** Values, items or documents that were let go to stay inside the quota. */
  evictions: number;
  /** Documents expired, when asked for or by the pager. */
  expired: number;
  /** Documents whose value is on disk only. */
  nonResident: number;
  /** Live items per collection id in lower-case hex. */
  collectionItems: Record<string, number>;
  activity: BucketActivity;
}

export interface RefusedLogin {
  /** Null for a name that nobody has: it may be a password in the wrong field. */
  user: string | null;
  from: string;
}

export interface KvReport {
  buckets: BucketReport[];
  connections: number;
  traffic: TrafficFigures;
}

/** Asks whether an external user has that password. */
export interface ExternalLogin {
  id: number;
  name: string;
  password: string;
}

export interface KvAdmin {
  start(options: KvStartOptions): Promise<KvPorts>;
  /**
   * Makes it so. Resolves when removed buckets are gone with their files, and new ones are ready or failed; large ones
   * may go on warming up, as their report says.
   */
  apply(desired: KvDesired): Promise<KvReport>;
  report(): Promise<KvReport>;
  /** Answers a question about an external user. */
  externalVerdict(id: number, isRight: boolean): Promise<void>;
  /** A key of the default collection, or null when it has none. */
  randomKey(bucket: string): Promise<string | null>;
  /** Begins a compaction and does not wait for it; nothing happens when one is under way or the bucket is not there. */
  compact(bucketUuid: string, order: CompactOrder): Promise<void>;
  /** Calls off the compaction of this origin, without one whatever is under way. */
  cancelCompaction(bucketUuid: string, origin?: string): Promise<void>;
  /** Drains connections, flushes everything, closes cleanly. */
  stop(): Promise<void>;
}
