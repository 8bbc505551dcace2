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
  /** Megabytes per node of services other than data. */
  quotas: ServiceQuotas;
  nodes: NodeState[];
  /** Rises when another configuration store takes over: revisions count within it. Absent: 1. */
  revEpoch?: number;
  /** The node that stores the configuration for the others; absent until another node was added. */
  founder?: string;
  /** Ids of nodes that were removed, the newest first. A node that finds its own id here may delete its data. */
  left?: readonly string[];
  /** Absent: all nodes are in the first group. */
  groups?: readonly NodeGroup[];
  /** The running rebalance. */
  balance?: RebalancePlan;
  lastBalance?: RebalanceOutcome;
  /** Ends of plans that the orchestrator has not reported yet, in their order. */
  unreported?: readonly PlanEnd[];
  /** A rebalance that failed and will be tried again. */
  retry?: RebalanceRetry;
  /** A rebalance or graceful failover did not finish, or a node moved to another server group, which only the next rebalance takes into account. */
  needsRebalance?: true;
  /** How many rebalances and failovers began and ended, by their published names. */
  counters?: Readonly<Record<string, number>>;
}

/** Only `active` nodes take part in the cluster. `inactiveAdded`: added, until the next rebalance; `inactiveFailed`: failed over. */
type Membership = 'active' | 'inactiveAdded' | 'inactiveFailed';

/** Nodes that may fail together. */
export interface NodeGroup {
  readonly uuid: string;
  readonly name: string;
}

/** A running rebalance or failover, stored before its first step, so that another orchestrator can continue it. */
export interface RebalancePlan {
  readonly id: string;
  readonly kind: RebalanceKind;
  /** The term of the orchestrator that executes the plan: an orchestrator that reads a higher one stops. */
  readonly term: number;
  /** Ids of the nodes that have the documents when the plan has ended. */
  readonly nodes: readonly string[];
  /** Ids of the nodes that have left the cluster by then. */
  readonly ejected: readonly string[];
  /** Ids of the nodes that are failed over by then. */
  readonly failing?: readonly string[];
  /** Copies that may lack durable writes may serve where there is no other. */
  readonly allowUnsafe?: boolean;
  /** Why the orchestrator made the plan without a request of a client. */
  readonly automatic?: string;
  readonly startedMs: number;
  /** Present in an automatic retry: how many attempts remain after this one. */
  readonly attemptsLeft?: number;
  /** Set when all shards are on the nodes that remain: the nodes that leave finish their requests, and get no others. */
  readonly hasMoved?: true;
  /** Set when a node has moved to another server group since the plan began: the maps may be planned for the groups of before. */
  readonly isOutdated?: true;
  /** Set when the plan ends before its last step: a client stopped it (null), or it failed for this reason. */
  readonly stopping?: { readonly reason: string | null };
}

export interface RebalanceRetry {
  /** Id of the rebalance that failed. */
  readonly id: string;
  readonly nodes: readonly string[];
  readonly ejected: readonly string[];
  /** Wall clock time of the next attempt. */
  readonly dueMs: number;
  readonly attemptsLeft: number;
}

export type RebalanceKind = 'rebalance' | 'gracefulFailover' | 'failover';

/** How the last rebalance or failover ended. */
export interface RebalanceOutcome {
  readonly id: string;
  readonly kind: RebalanceKind;
  readonly outcome: 'completed' | 'stopped' | 'failed';
  readonly reason?: string;
  readonly endedMs: number;
  readonly startedMs?: number;
  /** Names of the nodes concerned, of which some may have left since. */
  readonly named?: Readonly<Record<'kept' | 'ejected' | 'failed', readonly string[]>>;
}

/** What the report of a plan's end needs. */
export interface PlanEnd extends RebalanceOutcome {
  /** The term of the orchestrator that carried the plan out. */
  readonly term: number;
  /** As in the plan. */
  readonly automatic?: string;
  /** As in the plan. */
  readonly failing?: readonly string[];
  /** How many nodes had been failed over automatically by the end of a rebalance that completed. */
  readonly failoversBefore?: number;
  /** Id of the node that reports this end at once, since the plan has removed the orchestrator. */
  readonly reporter?: string;
}

export interface ServiceQuotas {
  indexMemoryQuota: number;
  ftsMemoryQuota: number;
  cbasMemoryQuota: number;
  eventingMemoryQuota: number;
}

export interface NodeState {
  uuid: string;
  /** The name of the node in the cluster, as published: `ns_1@10.0.0.2`. */
  otpNode: string;
  /** The name under which others reach this node; null before it was given one. */
  hostname: string | null;
  membership: Membership;
  /** The node became active by a rebalance that has not completed: nodes that were down since then may not know of it. */
  newlyActive?: true;
  /** The node is being recovered by delta recovery: until the rebalance has completed it keeps all of its copies, also of shards that the maps do not give it yet. */
  keepsCopies?: true;
  /** How a node that was failed over is recovered. */
  recovery?: 'full' | 'delta';
  /** The uuid of the node's server group; absent: the first group. */
  group?: string;
  /** The node was added and has not started in this cluster yet. */
  joining?: true;
  /** Null until services are chosen; then provisioning uses the default. */
  services: string[] | null;
  ports: NodePorts;
  paths: NodePaths;
  /** Addresses for clients behind a port mapping or in another network. */
  alternate: AlternateAddresses | null;
  /** Absent in a configuration that an older version wrote, until the setting is changed. */
  network?: NodeNetwork;
  /** The version of the configuration and of the messages between nodes that the node knows (`node-versions.ts`); absent: the node is of 0.2. */
  version?: number;
  /** The version of the published protocol that the node's clients may use; absent: the node is of 0.2. */
  compatibility?: number;
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

/** Names as in client bootstrap, except the three ports between nodes: `distTCP`, `distTLS` and `replication`. */
export interface NodePorts {
  mgmt: number;
  mgmtSSL: number;
  kv: number;
  kvSSL: number;
  capi: number;
  capiSSL: number;
  distTCP: number;
  distTLS: number;
  /** Absent in configurations of older versions. */
  replication?: number;
  /** Ports of the query service, if it runs. */
  n1ql?: number;
  n1qlSSL?: number;
  /** Ports of the index service, if it runs. */
  indexHttp?: number;
  indexHttps?: number;
  /** Ports of the backup service, if it runs. */
  backupAPI?: number;
  backupAPIHTTPS?: number;
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

/** Key `buckets`: unique names, the limit on their number and the sum of their quotas are one invariant, so all buckets are in one key. */
export interface BucketsState {
  /** Megabytes per node for all buckets together. */
  memoryQuotaMb: number;
  byUuid: Record<string, StoredBucket>;
  /** Id of the plan of a rebalance or failover that ended last: a bucket whose map was made before is not stored after it. Absent: none has ended. */
  endedPlan?: string;
}

export interface StoredBucket {
  name: string;
  uuid: string;
  /** Increased by every flush; files of an earlier incarnation are stale. */
  incarnation: number;
  /** The name of a `deleting` bucket stays reserved until the data service has removed its files. */
  state: 'ready' | 'deleting';
  /** For a `deleting` bucket in a cluster of several nodes: ids of the nodes that have removed its files. */
  removedBy?: readonly string[];
  vocabulary: Vocabulary;
  type: BucketType;
  /** Per node. */
  ramQuotaMb: number;
  replicaNumber: number;
  /** The `replicaNumber` that the last rebalance has placed, where it was changed since. */
  placedReplicas?: number;
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
  /** While a rebalance runs: the id of its plan and, by shard, the chain at its end. */
  readonly forward?: { readonly plan: string; readonly chains: readonly (readonly number[])[] };
}

export interface ShardPlacement {
  /** Rises each time that another copy becomes active. */
  readonly epoch: number;
  /** Positions in `nodes`: the active, then its copies; -1 where there is none. */
  readonly chain: readonly number[];
  /** Positions of nodes that receive a copy which clients do not see yet, because the shard moves. */
  readonly incoming?: readonly number[];
  /**
   * The in-sync set: the active and the copies that have received every durable write, each as its position and the boot that
   * received them. Absent: the active alone. Only a member may become active.
   */
  readonly inSync?: readonly (readonly [position: number, boot: string])[];
  /**
   * The boot of the active that confirmed this epoch: until then it serves nothing. Absent after the shard got another active, and
   * in clusters of one node, which confirms nothing.
   */
  readonly confirmed?: string;
  /**
   * Where `confirmed` is absent: the node that was the last to confirm. Where it is present: the disk of the active may lack what is on the disk of
   * this other node. Read it with `lastActiveOf`: nodes of older versions do not update it.
   */
  readonly lastActive?: LastActive;
  /** The epoch whose active reported that it has stopped: its successor need not wait for as long as that active might still serve. */
  readonly stopped?: number;
  /** The epoch at whose end every member had all changes of its active. Read it with `isHandedOver`: nodes of older versions do not update it. */
  readonly handedOver?: number;
  /**
   * Position of the member of the in-sync set to which the active hands the shard over: the active accepts no more requests, sends its
   * changes, and reports that it has stopped.
   */
  readonly successor?: number;
  /** Where a failover has lost the shard: ids of the nodes that had copies. One that is recovered with its files continues the shard. */
  readonly lastHolders?: readonly string[];
}

/**
 * The node that continues a shard whose members have all lost their memory: its disk has every write that was acknowledged as persisted. It is a
 * member of the in-sync set, and stays one while the active has confirmed.
 */
export interface LastActive {
  /** Id of the node. */
  readonly node: string;
  /** No node has confirmed a later epoch. */
  readonly epoch: number;
}

export type CompressionMode = 'off' | 'passive' | 'active';

/** Settings that a bucket can override. */
interface AutoCompactionRules {
  parallelDBAndViewCompaction: boolean;
  /** Null: any time. */
  allowedTimePeriod: TimePeriod | null;
  databaseFragmentationThreshold: FragmentationThreshold;
  viewFragmentationThreshold: FragmentationThreshold;
}

export interface BucketAutoCompaction extends AutoCompactionRules {
  /** Community edition only. */
  indexCompactionMode?: string;
}

/** Local time of day. */
export interface TimePeriod {
  fromHour: number;
  fromMinute: number;
  toHour: number;
  toMinute: number;
  abortOutside: boolean;
}

/** Compaction is due from either value on; null: no such threshold. */
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

/** Nodes without chosen services run the data service. */
export const isDataNode = ({ services }: NodeState): boolean => services?.includes('kv') ?? true;

/** Whether the node was failed over and not activated since; it may wait for its recovery. */
export const isFailedOver = ({ membership, recovery }: NodeState): boolean =>
  membership === 'inactiveFailed' || recovery !== undefined;

/** The manifest of a new bucket. Collection ids below 8 are reserved by the protocol. */
export const initialManifest = (): ManifestState => ({
  uid: '0',
  nextId: 8,
  scopes: [{ name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] }],
});

export const noBuckets = (memoryQuotaMb: number): BucketsState => ({ memoryQuotaMb, byUuid: {} });
