// The cluster's keys in the configuration store. Each invariant is within one key.

export type Edition = 'enterprise' | 'community';
/** Whether bucket types are called `native` and `cache`, or by the names that published clients send. */
export type Vocabulary = 'neutral' | 'branded';
export type BucketType = 'native' | 'ephemeral' | 'cache';
export type EvictionPolicy = 'valueOnly' | 'fullEviction' | 'noEviction' | 'nruEviction';
export type DurabilityMinLevel = 'none' | 'majority' | 'majorityAndPersistActive' | 'persistToMajority';

export const clusterKey = 'cluster';
export const bucketsKey = 'buckets';
export const manifestPrefix = 'manifest/';
export const mapPrefix = 'map/';
export const settingsPrefix = 'settings/';
export const mapKey = (bucketUuid: string): string => `${mapPrefix}${bucketUuid}`;
export const manifestKey = (bucketUuid: string): string => `${manifestPrefix}${bucketUuid}`;

/** Key `cluster`: the nodes and their services. */
export interface ClusterState {
  /** 32 hex digits; empty until the first administrator is set. */
  uuid: string;
  name: string;
  /** Megabytes per node of services other than data; stored until they run. */
  quotas: ServiceQuotas;
  nodes: NodeState[];
  /** Rises when another configuration store takes over: revisions count within it. Absent: 1. */
  revEpoch?: number;
}

export interface ServiceQuotas {
  indexMemoryQuota: number;
  ftsMemoryQuota: number;
  cbasMemoryQuota: number;
  eventingMemoryQuota: number;
}

export interface NodeState {
  uuid: string;
  otpNode: string;
  /** The name under which others reach this node; null while it is known only as "this host". */
  hostname: string | null;
  membership: 'active';
  /** Null until services are chosen; then provisioning uses the default. */
  services: string[] | null;
  ports: NodePorts;
  paths: NodePaths;
  /** Addresses for clients behind a port mapping or in another network. */
  alternate: AlternateAddresses | null;
  /** Absent in configurations of older versions in which it was never changed. */
  network?: NodeNetwork;
}

/** How other nodes reach this one. */
export interface NodeNetwork extends NodeListener {
  afamilyOnly: boolean;
  listeners: readonly NodeListener[];
}

export interface NodeListener {
  afamily: Family;
  nodeEncryption: boolean;
}

export type Family = 'inet' | 'inet6';

/** Names as in client bootstrap, except the two ports between nodes. */
export interface NodePorts {
  mgmt: number;
  mgmtSSL: number;
  kv: number;
  kvSSL: number;
  capi: number;
  capiSSL: number;
  distTCP: number;
  distTLS: number;
  /** Of the query service, if it runs. */
  n1ql?: number;
  n1qlSSL?: number;
  /** Of the index service, if it runs. */
  indexHttp?: number;
  indexHttps?: number;
}

export interface NodePaths {
  data: string;
  index: string;
  analytics: string[];
  eventing: string;
  javaHome: string;
}

export interface AlternateAddresses {
  hostname: string;
  ports: Record<string, number>;
}

/** Key `buckets`: names, the limit on their number and the sum of their quotas are one invariant. */
export interface BucketsState {
  /** Megabytes per node for all buckets together. */
  memoryQuotaMb: number;
  byUuid: Record<string, StoredBucket>;
}

export interface StoredBucket {
  name: string;
  uuid: string;
  /** Increased by every flush; files of an older generation are stale. */
  incarnation: number;
  /** The name of a `deleting` bucket stays reserved until the data service has removed its files. */
  state: 'ready' | 'deleting';
  vocabulary: Vocabulary;
  type: BucketType;
  /** Per node. */
  ramQuotaMb: number;
  replicaNumber: number;
  replicaIndex: boolean;
  evictionPolicy: EvictionPolicy;
  durabilityMinLevel: DurabilityMinLevel;
  threadsNumber: 3 | 8;
  compressionMode: CompressionMode;
  maxTtlSeconds: number;
  conflictResolutionType: 'seqno' | 'lww';
  driftAheadThresholdMs: number;
  driftBehindThresholdMs: number;
  flushEnabled: boolean;
  /** Null: the cluster's settings apply. */
  autoCompaction: BucketAutoCompaction | null;
  /** Days; null: the cluster's setting applies. */
  purgeIntervalDays: number | null;
}

/** Key `map/<bucket uuid>`: which nodes hold which shard. Buckets of type `cache` have none. */
export interface BucketMap {
  /** Ids of the nodes that `shards` names by their position. */
  readonly nodes: readonly string[];
  readonly shards: readonly ShardPlacement[];
}

export interface ShardPlacement {
  /** Rises each time that another copy becomes active. */
  readonly epoch: number;
  /** Positions in `nodes`: the active, then its copies; -1 where there is none. */
  readonly chain: readonly number[];
}

export type CompressionMode = 'off' | 'passive' | 'active';

/** Settings that a bucket can override. */
interface AutoCompactionRules {
  parallelDBAndViewCompaction: boolean;
  allowedTimePeriod: TimePeriod | null;
  databaseFragmentationThreshold: FragmentationThreshold;
  viewFragmentationThreshold: FragmentationThreshold;
}

export interface BucketAutoCompaction extends AutoCompactionRules {
  /** Community edition only. */
  indexCompactionMode?: string;
}

export interface TimePeriod {
  fromHour: number;
  fromMinute: number;
  toHour: number;
  toMinute: number;
  abortOutside: boolean;
}

export interface FragmentationThreshold {
  percentage: number | null;
  sizeMb: number | null;
}

/** Key `settings/autoCompaction`: applies to buckets without settings of their own. */
export interface ClusterAutoCompaction extends AutoCompactionRules {
  indexCompactionMode: string;
  indexCircularCompaction: { daysOfWeek: string; interval: TimePeriod };
  indexFragmentationThreshold: { percentage: number | null };
  purgeIntervalDays: number;
}

/** Key `manifest/<bucket uuid>`: scopes and collections; ids are lower-case hex, as on the wire. */
export interface ManifestState {
  uid: string;
  /** Id of the next scope or collection; never reused. */
  nextId: number;
  scopes: ScopeState[];
}

export interface ScopeState {
  name: string;
  uid: string;
  /** Enforced only while the cluster's `enforceLimits` is on. */
  limits?: Readonly<Partial<Record<string, Readonly<Partial<Record<string, number>>>>>>;
  collections: CollectionState[];
}

export interface CollectionState {
  name: string;
  uid: string;
  /** Seconds; absent: the bucket's applies. */
  maxTTL?: number;
}

export const freshManifest = (): ManifestState => ({
  uid: '0',
  nextId: 8,
  scopes: [{ name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] }],
});

export const noBuckets = (memoryQuotaMb: number): BucketsState => ({ memoryQuotaMb, byUuid: {} });
