// The one door to the data service. The manager states what should be (buckets, users, ports, TLS) as plain data, as often
// as it likes; the data service makes it so and reports what is. Everything here can cross a thread boundary.

/** Bits of the privileges that commands check (public document: kv_engine docs/rbac.md). */
export const Privilege = {
  read: 1 << 0,
  insert: 1 << 1,
  upsert: 1 << 2,
  delete: 1 << 3,
  rangeScan: 1 << 4,
  metaWrite: 1 << 5,
  systemXattrRead: 1 << 6,
  systemXattrWrite: 1 << 7,
  systemCollectionLookup: 1 << 8,
  systemCollectionMutation: 1 << 9,
  dcpProducer: 1 << 10,
  dcpConsumer: 1 << 11,
  dcpStream: 1 << 12,
  simpleStats: 1 << 13,
  stats: 1 << 14,
  /** Node-wide. */
  systemSettings: 1 << 15,
  administrator: 1 << 16,
} as const;
export type Privilege = (typeof Privilege)[keyof typeof Privilege];

/** What a user may do: node-wide bits, and per bucket (`*` for all) bits that hold for the bucket, a scope or a collection. */
export interface Grants {
  node: number;
  buckets: Record<string, BucketGrant>;
}
export interface BucketGrant {
  privileges: number;
  /** By scope id in lower-case hex. */
  scopes?: Record<string, { privileges: number; collections?: Record<string, number> }>;
}

/** SCRAM verifier of one hash (RFC 5802); base64. */
export interface ScramVerifier {
  salt: string;
  iterations: number;
  storedKey: string;
  serverKey: string;
}

export interface UserSpec {
  name: string;
  /** Changes when the credentials do: sessions of an older one get AUTH_STALE. */
  credentialId: string;
  /** `null` for a user without a password, who cannot log in here. */
  scram: { sha1: ScramVerifier; sha256: ScramVerifier; sha512: ScramVerifier } | null;
  grants: Grants;
}

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
  type: BucketType;
  quotaBytes: number;
  replicaNumber: number;
  evictionPolicy: EvictionPolicy;
  durabilityMinLevel: DurabilityMinLevel;
  /** Seconds, 0 = off. */
  maxTtl: number;
  compressionMode: 'off' | 'passive' | 'active';
  conflictResolution: 'seqno' | 'lww';
  manifest: Manifest;
  /** Terse bucket configuration as JSON text, sent as it is by GET_CLUSTER_CONFIG and with NOT_MY_VBUCKET. */
  clusterConfig: { revEpoch: number; rev: number; json: string };
}

export interface TlsSpec {
  /** PEM chain, PEM key. */
  certificate: string;
  key: string;
  minVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  ciphers?: string;
  honorCipherOrder: boolean;
}

/** The wanted state; each call replaces the last. */
export interface KvDesired {
  buckets: BucketSpec[];
  users: UserSpec[];
  /** Cluster-level configuration JSON for connections without a bucket, null before provisioning. */
  clusterConfig: { revEpoch: number; rev: number; json: string } | null;
  tls: TlsSpec | null;
}

export interface KvStartOptions {
  dataDir: string;
  host: string;
  port: number;
  tlsPort: number;
  /** Version text of the VERSION command. */
  version: string;
  logLevel: string;
}

/** The ports that really listen. */
export interface KvPorts {
  port: number;
  tlsPort: number;
}

export interface BucketReport {
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
  dirtyItems: number;
  /** Counters since start. */
  ops: number;
  gets: number;
  getHits: number;
  sets: number;
  deletes: number;
  diskFetches: number;
  nonResident: number;
  /** Live items per collection id in lower-case hex. */
  collectionItems: Record<string, number>;
}

export interface KvReport {
  buckets: BucketReport[];
  connections: number;
}

export interface KvAdmin {
  start(options: KvStartOptions): Promise<KvPorts>;
  /** Makes it so. Resolves when every bucket of the wanted state is ready or failed, and removed ones are gone with their files. */
  apply(desired: KvDesired): Promise<KvReport>;
  report(): Promise<KvReport>;
  /** A key of the default collection, or null when it has none. */
  randomKey(bucket: string): Promise<string | null>;
  /** Drains connections, flushes everything, closes cleanly. */
  stop(): Promise<void>;
}
