// The types of `divan/testing`. This file imports nothing: its declarations are part of the package, and the rest of the sources is not.

export type TestService = 'kv' | 'index' | 'n1ql' | 'backup';

export interface CollectionOptions {
  name: string;
  /** Seconds after which its documents expire; 0 or absent: never. */
  maxTTL?: number;
}

export interface ScopeOptions {
  name: string;
  /** A collection without further options may be given as its name. */
  collections?: readonly (string | CollectionOptions)[];
}

export interface DocumentOptions {
  key: string;
  /** Any JSON value. */
  value: unknown;
  /** Default: `_default`, as for the collection. */
  scope?: string;
  collection?: string;
  /** Seconds until the document expires; above 2592000 the Unix time at which it expires. */
  expiry?: number;
}

export interface TestBucketOptions {
  name: string;
  /** Default: `couchbase`. */
  type?: 'couchbase' | 'membase' | 'native' | 'ephemeral' | 'memcached' | 'cache';
  /** Default: 100. */
  ramQuotaMB?: number;
  /** Default: 0. */
  replicaNumber?: number;
  /** Further parameters of bucket creation, as the REST API takes them. */
  parameters?: Readonly<Record<string, string | number | boolean>>;
  scopes?: readonly ScopeOptions[];
  documents?: readonly DocumentOptions[];
}

export interface UserOptions {
  name: string;
  password: string;
  displayName?: string;
  /** As the REST API takes them: `data_reader[travel]`. */
  roles?: readonly string[];
}

/** The default of each is 0: the node chooses a free port. */
export interface PortOptions {
  rest?: number;
  restTls?: number;
  kv?: number;
  kvTls?: number;
  query?: number;
  queryTls?: number;
  index?: number;
  indexTls?: number;
  backup?: number;
  backupTls?: number;
}

export interface StartNodeOptions {
  /** The administrator; default `Administrator`. */
  username?: string;
  /** At least six characters; default `password`. */
  password?: string;
  /** A bucket without further options may be given as its name. */
  buckets?: readonly (string | TestBucketOptions)[];
  users?: readonly UserOptions[];
  /** SQL++ statements that run in order after everything else was created, such as CREATE INDEX. */
  statements?: readonly string[];
  /** Default: `kv`, `index` and `n1ql`. `kv` is required, and `n1ql` for statements. */
  services?: readonly TestService[];
  /** Memory of the data service. */
  memoryQuotaMB?: number;
  edition?: 'enterprise' | 'community';
  /** An address of this machine; default 127.0.0.1. */
  host?: string;
  ports?: PortOptions;
  /** Time in which the node must be ready, in milliseconds; default 60,000. */
  startMs?: number;
}

/** The addresses of a node, as clients take them. */
export interface TestNodeAddresses {
  rest: string;
  restTls: string;
  kv: string;
  kvTls: string;
  capi: string;
  capiTls: string;
  /** Absent without the service. */
  query?: string;
  queryTls?: string;
  index?: string;
  indexTls?: string;
  backup?: string;
  backupTls?: string;
}

/** The functions of a test framework that register hooks, of a whole file or of a suite: `before` and `after`, or `beforeAll` and `afterAll`. */
export interface TestHooks {
  /** Hook of node:test. */
  before?: RegisterHook;
  after?: RegisterHook;
  /** Hook of Vitest and Jest, which take the time that a hook may need: starting a node on a busy machine needs more than their default. */
  beforeAll?: RegisterTimedHook;
  afterAll?: RegisterTimedHook;
  beforeEach: RegisterHook;
}

export type RegisterHook = (run: () => Promise<void>) => unknown;
export type RegisterTimedHook = (run: () => Promise<void>, timeoutMs: number) => unknown;

/** The node of a test file: available from its first hook on. */
export interface UsedNode {
  /** @throws Error before it has started */
  readonly node: TestNode;
  /** For further hooks: node:test runs those of a file at the same time. */
  readonly started: Promise<TestNode>;
}

/** A node that runs in a child process with its own data folder. When this process ends, in whatever way, the node ends and its folder is deleted. */
export interface TestNode {
  readonly pid: number;
  /** For `connect` of an SDK: `couchbase://127.0.0.1:PORT`. */
  readonly connectionString: string;
  readonly username: string;
  readonly password: string;
  readonly addresses: TestNodeAddresses;
  /**
   * Brings buckets, their scopes, collections and documents, users, groups and indexes back to what they were after the start. Call it
   * while nothing else writes. Settings, of the cluster and of buckets that still exist, and functions stay as they are.
   */
  reset(): Promise<void>;
  /** Resolves when the process has ended and its data folder is deleted. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
