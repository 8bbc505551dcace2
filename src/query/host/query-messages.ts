// Messages between the main thread and a query thread: plain data.
import type { MessagePort } from 'node:worker_threads';
import type { GrantedRole } from '#auth/role-rules.ts';
import type { UserLimits } from '#auth/user-limits.ts';
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { Identity } from '#contract/route.ts';
import type { LogMessage } from '#ports/log.ts';
import type { TlsSpec } from '#ports/tls.ts';
import type { AuditedStatement, PermissionRefusal, StatementAuditing } from '../audit.contract.ts';
import type { DataAccess } from '../data/bucket-clients.ts';
import type { BucketState } from '../data/keyspaces.ts';
import type {
  CurlAllowlist,
  FunctionChange,
  FunctionDefinition,
  FunctionLibrary,
  FunctionOutcome,
  LibraryChange,
  LibraryOutcome,
  PreparedText,
  QueryNodeDescription,
  ReplacingStatement,
  RowsOfNodes,
  RowsPage,
  StatisticsChange,
  StatisticsOutcome,
  StoredStatistics,
} from '../query.contract.ts';
import type { PlannedCollections } from './awaited-keyspaces.ts';

export interface QueryStart {
  readonly host: string;
  readonly port: number;
  readonly tlsPort: number;
  readonly dataFolder: string;
  /** Null: there is no port with TLS. */
  readonly tls: TlsSpec | null;
  /** Whether the port without TLS admits only connections from this machine. */
  readonly plainForThisMachineOnly: boolean;
  /** The address ranges from which clients may connect; null: any. */
  readonly clients: readonly string[] | null;
  readonly sequentialScans: boolean;
  readonly edition: 'enterprise' | 'community';
  readonly indexFolder: string;
  /** The collections that the first start of a node creates; empty at later starts. */
  readonly planned: readonly PlannedCollections[];
}

export interface QueryPorts {
  readonly port: number;
  readonly tlsPort: number;
}

/** The whole state for the service; each message replaces the last. */
export interface QueryState {
  readonly buckets: readonly BucketState[];
  readonly tls: TlsSpec | null;
  readonly plainForThisMachineOnly: boolean;
  readonly clients: readonly string[] | null;
  /** The cluster's query settings, by the service's names. */
  readonly settings: Record<string, unknown>;
  readonly curl: CurlAllowlist;
  readonly functions: readonly FunctionDefinition[];
  readonly audit: StatementAuditing;
  readonly data: DataAccess;
  /** Null while this node is the only one. */
  readonly cluster: ClusterLayout | null;
  readonly rest: { readonly host: string; readonly port: number; readonly localAddress: string | undefined };
  readonly node: {
    readonly name: string;
    readonly host: string;
    readonly version: string;
    readonly datastoreUrl: string;
    readonly nodes: readonly QueryNodeDescription[];
  };
}

export interface KnownCaller {
  readonly identity: Identity;
  readonly roles: readonly GrantedRole[];
  readonly limits?: UserLimits;
}

export interface QueryReport {
  readonly counters: Readonly<Record<string, number>>;
  readonly active: number;
  readonly queued: number;
  readonly prepareds: number;
}

/** Calls of the query thread. It answers each `id` with a result or a failure. */
export type QueryCall =
  /** `documents`: a port to the data service, transferred. */
  | {
      readonly kind: 'start';
      readonly id: number;
      readonly options: QueryStart;
      readonly documents: MessagePort;
    }
  | { readonly kind: 'follow'; readonly id: number; readonly state: QueryState }
  /** The data service is about to get its first buckets, which are these: requests wait for the state that has them. */
  | { readonly kind: 'expect'; readonly buckets: readonly string[] }
  | { readonly kind: 'report'; readonly id: number }
  | { readonly kind: 'stop'; readonly id: number }
  /** Another node asks for this node's rows of a keyspace of the catalog, or removes some. */
  | {
      readonly kind: 'rows';
      readonly id: number;
      readonly keyspace: string;
      readonly after: string | null;
    }
  | {
      readonly kind: 'prepared';
      readonly id: number;
      readonly name: string;
      readonly queryContext: string;
    }
  | { readonly kind: 'discard prepared'; readonly id: number; readonly replaced: ReplacingStatement }
  | {
      readonly kind: 'remove rows';
      readonly id: number;
      readonly keyspace: string;
      readonly ids: readonly string[];
    }
  /** The reply to a question for other nodes. */
  | { readonly kind: 'nodes answered'; readonly callId: number; readonly outcome: NodesOutcome }
  /** The reply to a question of the thread. `watch` identifies the caller in `discard`. */
  | {
      readonly kind: 'caller';
      readonly callId: number;
      readonly caller: KnownCaller | null;
      readonly watch: number;
    }
  /** The reply to a question of the thread that could not be answered. */
  | {
      readonly kind: 'caller not checked';
      readonly callId: number;
      /** `busy`: too many logins wait for their turn. `no accounts`: the node was not set up or has left its cluster. */
      readonly cause: 'busy' | 'no accounts' | 'other';
      readonly reason: string;
    }
  /** A port to the index service; transferred. */
  | { readonly kind: 'indexes'; readonly port: MessagePort }
  /** All functions: before the port to the index service, and after each change. */
  | { readonly kind: 'functions'; readonly functions: readonly FunctionDefinition[] }
  /** The reply to a change of functions, after the functions. */
  | { readonly kind: 'functions changed'; readonly callId: number; readonly outcome: FunctionOutcome }
  /** All libraries: before the port to the index service, and after each change. */
  | { readonly kind: 'libraries'; readonly libraries: readonly FunctionLibrary[] }
  /** The reply to a change of libraries, after the libraries. */
  | { readonly kind: 'libraries changed'; readonly callId: number; readonly outcome: LibraryOutcome }
  /** All statistics of the planner: before the port to the index service, and after each change. */
  | { readonly kind: 'statistics'; readonly statistics: readonly StoredStatistics[] }
  /** The reply to a change of statistics, after the statistics. */
  | { readonly kind: 'statistics changed'; readonly callId: number; readonly outcome: StatisticsOutcome }
  /** A caller's account, credentials or roles changed. */
  | { readonly kind: 'discard'; readonly watch: number };

/** A request to the query services of other nodes, which the main thread sends. */
export type NodesQuestion =
  | { readonly kind: 'rows'; readonly keyspace: string }
  | {
      readonly kind: 'rows after';
      readonly keyspace: string;
      readonly node: string;
      readonly after: string;
    }
  | { readonly kind: 'prepared'; readonly name: string; readonly queryContext: string }
  | { readonly kind: 'discard prepared'; readonly replaced: ReplacingStatement }
  | {
      readonly kind: 'remove';
      readonly keyspace: string;
      readonly node: string;
      readonly ids: readonly string[];
    };

export type NodesOutcome =
  | RowsOfNodes
  | RowsPage
  | { readonly prepared: PreparedText | null }
  | { readonly refused: string }
  | 'removed';

export type CallerNotChecked = Extract<QueryCall, { kind: 'caller not checked' }>;

/** What the main thread stores for all query threads of the cluster. */
export type StoredCall = Extract<QueryCall, { kind: 'functions' | 'libraries' | 'statistics' }>;

/** The replies to changes of functions, libraries and statistics. */
export type StoredReply = Extract<
  QueryCall,
  { kind: 'functions changed' | 'libraries changed' | 'statistics changed' }
>;

/** The credentials of a caller, for the main thread to check. */
export type QueryQuestion =
  | { readonly name: string; readonly password: string; readonly remoteAddress: string }
  | { readonly certificateName: string };

/** Messages from the query thread. */
export type QueryMessage =
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  | {
      readonly kind: 'failure';
      readonly id: number;
      readonly message: string;
      readonly code: string | undefined;
    }
  | LogMessage
  | { readonly kind: 'authenticate'; readonly callId: number; readonly question: QueryQuestion }
  | { readonly kind: 'change function'; readonly callId: number; readonly change: FunctionChange }
  | { readonly kind: 'change libraries'; readonly callId: number; readonly change: LibraryChange }
  | { readonly kind: 'change statistics'; readonly callId: number; readonly change: StatisticsChange }
  /** Sent once, at the first request: asks for the port of the index service, and for the stored functions, libraries and statistics. */
  | { readonly kind: 'connect indexes' }
  | { readonly kind: 'ask nodes'; readonly callId: number; readonly question: NodesQuestion }
  | { readonly kind: 'audit'; readonly statement: AuditedStatement }
  | { readonly kind: 'permission refused'; readonly refusal: PermissionRefusal }
  /** The thread has dropped this caller from its cache. */
  | { readonly kind: 'unwatch'; readonly watch: number };
