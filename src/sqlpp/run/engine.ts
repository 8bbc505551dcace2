// The interface between the query service and the engine: inputs and results of preparing and running a statement. The engine is
// pure: documents, indexes, time, randomness, pauses and scratch files are arguments.
import type { Documents, Durability } from '../datastore/documents.ts';
import type { Consistency, IndexAdmin, Indexes } from '../datastore/indexes.ts';
import type { Keyspace, KeyspaceName } from '../datastore/keyspace.ts';
import type { CollectionStatistics } from '../datastore/statistics.ts';
import type { Privilege } from '../plan/privilege.ts';
import type { Functions } from '../plan/resolver.ts';
import type { ExternalFunction } from '../plan/resolving.ts';
import type { Value } from '../values/value.ts';
import type { PlainCommand } from './commands.ts';
import type { StatementMemory } from './held-memory.ts';

export type { Privilege } from '../plan/privilege.ts';
export type { ExternalFunction } from '../plan/resolving.ts';

/** The data that statements read and write. Statements of a transaction get a datastore that includes the transaction's writes. */
export interface Datastore {
  /** Synchronous, since planning never waits. A text names the part of the name that does not exist. */
  find(name: KeyspaceName): Keyspace | 'no bucket' | 'no scope' | 'no collection';
  readonly documents: Documents;
  readonly indexes: Indexes;
  readonly indexAdmin: IndexAdmin;
  readonly catalog: Catalog;
}

export interface CatalogRow {
  readonly id: string;
  readonly value: Value;
}

/** The `system:` keyspaces, limited to rows that the request's user may see. */
export interface Catalog {
  has(collection: string): boolean;
  /** `warn` is called with a warning about rows that the user may not see. */
  scan(
    collection: string,
    execution: ExecuteContext,
    warn: (warning: Error) => void,
  ): AsyncIterable<readonly CatalogRow[]>;
  /** DELETE FROM system:…; rejects with an SqlError for keyspaces that do not support it. */
  remove(collection: string, ids: readonly string[], execution: ExecuteContext): Promise<void>;
}

export interface PrepareContext {
  readonly datastore: Datastore;
  /** The scope of `query_context`, to which one-part names belong. */
  readonly queryContext?: { readonly bucket: string; readonly scope: string };
  /** Whether keyspaces without a usable index are scanned; false: error 4000 as in 7.1. */
  readonly sequentialScans: boolean;
  /** Known values of parameters make spans and plans exact; absent for a prepared statement. */
  readonly positional?: readonly Value[];
  readonly named?: ReadonlyMap<string, Value>;
  /** Called with each parameter whose value the plan may depend on: a name without `$`, or a position from 1. */
  readonly onParameterRead?: (parameter: string | number) => void;
  /** User-defined functions (CREATE FUNCTION). */
  readonly userFunctions?: UserFunctions;
  /** Features of the enterprise edition are refused. */
  readonly isCommunityEdition?: boolean;
  /** Statistics by which the planner chooses among indexes; absent: it chooses by rules. */
  readonly statistics?: (keyspace: Keyspace) => CollectionStatistics | undefined;
}

export interface UserFunction {
  readonly parameters: readonly string[];
  readonly isVariadic: boolean;
  readonly language: 'inline' | 'javascript';
  /** A SQL++ expression; for another language the name of the function in its library. */
  readonly body: string;
  /** The scope of the function; absent for a global one. */
  readonly scope?: { readonly bucket: string; readonly scope: string };
}

export interface UserFunctions extends Pick<Functions, 'refusesExternal'> {
  /** Named as in the statement; resolved with the query context by the service. */
  find(path: readonly string[]): UserFunction | undefined;
  /** Calls a function in another language than SQL++; absent while a statement is prepared. */
  call?(external: ExternalFunction, values: readonly Value[]): Promise<Value>;
}

export type StatementKind =
  | 'SELECT'
  | 'INSERT'
  | 'UPSERT'
  | 'DELETE'
  | 'UPDATE'
  | 'MERGE'
  | 'CREATE_INDEX'
  | 'CREATE_PRIMARY_INDEX'
  | 'DROP_INDEX'
  | 'ALTER_INDEX'
  | 'BUILD_INDEX'
  | 'EXPLAIN'
  | 'ADVISE'
  | 'INFER'
  | 'EXECUTE'
  | Command['kind'];

/** A statement that is parsed, checked and planned. Immutable; any number of requests may run it at once. */
export interface PreparedStatement {
  readonly text: string;
  readonly kind: StatementKind;
  readonly isReadonly: boolean;
  /** The answer's `signature`; undefined: null. */
  readonly signature: Value;
  readonly privileges: readonly Privilege[];
  /** Keyspaces that the statement reads or writes, for consistency vectors and existence checks. */
  readonly keyspaces: readonly Keyspace[];
  /** Ids of the indexes in the plan; the statement must be prepared again when one was dropped. */
  readonly indexIds: readonly string[];
  /** The operator tree as EXPLAIN shows it. */
  readonly explain: Value;
  /** Names of the parameters, without `$`; positional ones as numbers from 1. */
  readonly parameters: readonly string[];
  /** For EXECUTE: the name of the prepared statement, which the service runs with `using`. */
  readonly execute?: { readonly name: string; readonly using: Value };
  /** The compiled program, opaque for the service. */
  readonly program: Program;
}

/** A compiled statement. */
export interface Program {
  run(prepared: PreparedStatement, context: ExecuteContext): Execution;
}

export interface ScratchFile {
  /** Appends bytes and returns their position. Rejects with an SqlError when the folder's quota is used up. */
  append(bytes: Uint8Array): Promise<{ readonly offset: number; readonly length: number }>;
  read(at: { readonly offset: number; readonly length: number }): Promise<Uint8Array>;
  close(): Promise<void>;
}

export interface ExecuteContext {
  readonly datastore: Datastore;
  readonly positional: readonly Value[];
  /** Names without `$`. */
  readonly named: ReadonlyMap<string, Value>;
  /** The time of the request in milliseconds since 1970, which NOW_… return. */
  readonly startedMs: number;
  /** The current time in milliseconds since 1970, which CLOCK_… return. */
  clockMs(): number;
  /** A monotonic clock, for time slices and timings. */
  monotonicMs(): number;
  /** From 0 to below 1. */
  random(): number;
  uuid(): string;
  /** Yields to other requests; called between time slices. */
  pause(): Promise<void>;
  scratch(): Promise<ScratchFile>;
  /** Called when much memory of the request became free at once. */
  collectGarbage?(): void;
  /** 0: no limit. */
  readonly memoryQuotaBytes: number;
  /** Sorts, groups and joins spill to disk above this memory. */
  readonly spillBytes: number;
  /** DML and DDL are refused. */
  readonly isReadonly: boolean;
  readonly preserveExpiry: boolean;
  readonly durability: Durability;
  readonly consistency: (keyspace: Keyspace) => Promise<Consistency> | Consistency;
  /** 0: no timeout. */
  readonly scanWaitMs: number;
  /** A request ends after this many failed rows. */
  readonly errorLimit: number;
  readonly signal: AbortSignal;
  readonly queryContext?: { readonly bucket: string; readonly scope: string } | undefined;
  readonly userFunctions?: UserFunctions;
  /** IANA name; absent: UTC. */
  readonly timeZone?: string;
  /** Calls VERSION(), NODE_NAME(), CURRENT_USERS() and similar, by name in lower case. */
  serviceCall?(name: string, values: readonly Value[]): Value;
  /** ADVISOR(): advice for the statements. */
  advisor?(statements: Value): Promise<Value>;
  /** CURL(): the answer of another server. */
  curl?(values: readonly Value[], memory: StatementMemory): Promise<Value>;
  /** The names of the request's users. */
  readonly users: readonly string[];
  /** The run measures the time of phases and operators. */
  readonly isProfiled?: boolean;
  /** Runs a command that the engine passes to the service. */
  command(command: Command, context: ExecuteContext): AsyncIterable<readonly Value[]>;
  /** Checks the privileges of a nested statement (ADVISE, EXECUTE FUNCTION, a text of ADVISOR). */
  authorize(privileges: readonly Privilege[]): void | Promise<void>;
}

export interface Phase {
  operators: number;
  items: number;
  ms: number;
}

/** Updated while rows are read; complete when they end. */
export interface Outcome {
  mutations: number;
  /** Rows that went through a sort. */
  sorted: number;
  /** The most memory that the statement used at once. */
  usedBytes: number;
  /** Errors of rows that failed while the statement continued. */
  readonly errors: Error[];
  readonly warnings: Error[];
  /** Phases by their published names: `primaryScan`, `indexScan`, `fetch`, `filter`, `project`, `sort`, … */
  readonly phases: Map<string, Phase>;
}

export interface Execution {
  /** Result rows in batches, which may be empty. Rejects with an SqlError. Leaving the loop early ends the statement and frees all resources. */
  readonly rows: AsyncIterable<readonly Value[]>;
  readonly outcome: Outcome;
  /** The plan with `#stats` for `profile=timings`. */
  timings(): Value;
}

export interface PrepareCommand {
  readonly kind: 'PREPARE';
  /** Absent: the service generates a name from the text. */
  readonly name?: string;
  /** FORCE: replaces a prepared statement of the same name. */
  readonly isForced: boolean;
  readonly prepared: PreparedStatement;
}

/** A statement that the engine passes to the service. */
export type Command = PlainCommand | PrepareCommand;
