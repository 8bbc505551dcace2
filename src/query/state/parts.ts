// The dependencies and the state that the modules of the query service share.
import type { UserMeters } from '#auth/user-meters.ts';
import type { Clock } from '#ports/clock.ts';
import type { KeyedQueue } from '#ports/keyed-queue.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { SharedTimers } from '#ports/shared-timers.ts';
import type { IndexAdmin, Indexes } from '#sqlpp/datastore/indexes.ts';
import type { ScratchFile } from '#sqlpp/run/engine.ts';
import type { Authority } from '../access/session.ts';
import type { StatementAudit } from '../audit.contract.ts';
import type { CurlFunction } from '../curl/curl-function.ts';
import type { BucketClients } from '../data/bucket-clients.ts';
import type { Keyspaces } from '../data/keyspaces.ts';
import type { KnownLibraries } from '../functions/known-libraries.ts';
import type { KnownFunctions } from '../functions/user-functions.ts';
import type { JavaScriptFunctions } from '../javascript/javascript-functions.ts';
import type {
  FunctionChange,
  FunctionOutcome,
  LibraryChange,
  LibraryOutcome,
  OtherQueryNodes,
  QueryNodeDescription,
  StatisticsChange,
  StatisticsOutcome,
} from '../query.contract.ts';
import type { Credential } from '../request/query-request.ts';
import type { KnownStatistics } from '../statistics/known-statistics.ts';
import type { AttemptCollections } from '../transactions/lost-attempts.ts';
import type { Transactions } from '../transactions/transactions.ts';
import type { ActiveRequests } from './active-requests.ts';
import type { Admission } from './admission.ts';
import type { AdvisorSessions } from './advisor-sessions.ts';
import type { CompletedRequests } from './completed-requests.ts';
import type { Counters } from './counters.ts';
import type { Engine } from './engine-port.ts';
import type { LongStatements } from './long-statements.ts';
import type { PlanCache } from './plan-cache.ts';
import type { PreparedCache } from './prepared-cache.ts';
import type { ServiceSettings } from './settings.ts';
import type { SignedPlans } from './signed-plans.ts';
import type { TimeSlices } from './time-slices.ts';

export interface QueryServiceDeps {
  readonly engine: () => Promise<Engine>;
  readonly authority: Authority;
  readonly clients: BucketClients;
  readonly keyspaces: Keyspaces;
  readonly indexes: Indexes;
  readonly indexAdmin: IndexAdmin;
  /** Incremented when an index is created, dropped or changes its state. */
  readonly indexRevision: () => number;
  readonly functions: KnownFunctions;
  /** Stores a change of functions; resolves when `functions` includes it. */
  readonly changeFunction: (change: FunctionChange) => Promise<FunctionOutcome>;
  readonly libraries: KnownLibraries;
  /** Stores a change of libraries; resolves when `libraries` includes it. */
  readonly changeLibraries: (change: LibraryChange) => Promise<LibraryOutcome>;
  readonly javaScript: JavaScriptFunctions;
  readonly curl: CurlFunction;
  readonly statistics: KnownStatistics;
  /** Stores a change of statistics; resolves when `statistics` includes it. */
  readonly changeStatistics: (change: StatisticsChange) => Promise<StatisticsOutcome>;
  /** The edition whose rules apply. */
  readonly edition: 'enterprise' | 'community';
  readonly rest: NodeRest;
  readonly scratch: () => Promise<ScratchFile>;
  readonly collectGarbage: () => void;
  readonly settings: ServiceSettings;
  /** The collections in which transaction attempts may remain. */
  readonly attemptCollections: AttemptCollections;
  readonly audit: StatementAudit;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly processFigures: () => ProcessFigures;
  /** The node's description in the catalog. */
  readonly node: () => NodeDescription;
  readonly otherNodes: OtherQueryNodes;
}

export interface NodeDescription {
  /** `host:port` of the administration API. */
  readonly name: string;
  readonly host: string;
  readonly version: string;
  readonly datastoreUrl: string;
  /** All active nodes of the cluster with their services, this one included. */
  readonly nodes: readonly QueryNodeDescription[];
}

export interface ProcessFigures {
  readonly usedBytes: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly processors: number;
  /** Percent of one processor since the start. */
  readonly userPercent: number;
  readonly systemPercent: number;
}

/** What the modules of the query service use of it: its dependencies, and the state of all requests. */
export interface QueryParts {
  readonly deps: QueryServiceDeps;
  readonly active: ActiveRequests;
  readonly completed: CompletedRequests;
  readonly advisorSessions: AdvisorSessions;
  readonly prepared: PreparedCache;
  readonly plans: PlanCache;
  readonly transactions: Transactions;
  readonly counters: Counters;
  readonly signedPlans: SignedPlans;
  readonly admission: Admission;
  readonly slices: TimeSlices;
  readonly longStatements: LongStatements;
  /** Timers of requests. */
  readonly timers: SharedTimers;
  readonly meters: UserMeters;
  /** Changes of roles by the paths of users: each reads the roles, and writes them with its change. */
  readonly roleChanges: KeyedQueue;
  readonly startedMs: number;
  /** The engine if it is loaded, or a promise of it while it loads. */
  readonly engine: Engine | Promise<Engine>;
  /** Changes when plans become outdated. */
  readonly planRevision: number;
  /** @throws SqlError while the service stops */
  checkRunning(): void;
}

/** The node's own REST API, called with the credentials of a request, so that it checks the user's roles and records the audit. */
export interface NodeRest {
  request(
    credential: Credential,
    method: string,
    path: string,
    fields?: Readonly<Record<string, string | number | boolean>>,
    /** The entity tag that what is changed must have. */
    tag?: string,
  ): Promise<{ readonly status: number; readonly body: string; readonly tag?: string | undefined }>;
}
