// The users as the data service gets them: privileges as bits, grants by bucket, scope and collection, and login verifiers.

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
  /** This privilege and the next two apply to the whole node. */
  stats: 1 << 14,
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

/** Per minute, except `connections`, which counts open ones. Infinity: no limit. */
export interface DataUserLimits {
  connections: number;
  operations: number;
  ingressMib: number;
  egressMib: number;
}

export interface UserSpec {
  name: string;
  /** Changes with the credentials: sessions that logged in with an earlier id get AUTH_STALE. */
  credentialId: string;
  /** Null: this node has no password of the user. External users log in with PLAIN, others only with a client certificate. */
  scram: { sha1: ScramVerifier; sha256: ScramVerifier; sha512: ScramVerifier } | null;
  grants: Grants;
  /** The cluster manager checks the password with an external system. */
  isExternal?: boolean;
  /** Absent: no limits. */
  limits?: DataUserLimits;
}
