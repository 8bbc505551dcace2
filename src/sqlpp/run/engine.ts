// The seam between the query service and the engine: what a statement is prepared and run with, and what comes of it. The engine is
// pure: documents, indexes, time, randomness, pauses and scratch files are arguments.
import type { Documents, Durability } from '../datastore/documents.ts';
import type { Consistency, IndexAdmin, Indexes } from '../datastore/indexes.ts';
import type { Keyspace, KeyspaceName } from '../datastore/keyspace.ts';
import type { Privilege } from '../plan/privilege.ts';
import type { Value } from '../values/value.ts';
import type { PlainCommand } from './commands.ts';

export type { Privilege } from '../plan/privilege.ts';

/** What statements read and write. A transaction's statements get one of their own, which sees the transaction's writes. */
export interface Datastore {
  /** Synchronous: planning never waits. A text: which part of the name does not exist. */
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

/** The `system:` keyspaces. Rows hold only what the request's user may see. */
export interface Catalog {
  has(collection: string): boolean;
  scan(collection: string, execution: ExecuteContext): AsyncIterable<readonly CatalogRow[]>;
  /** DELETE FROM system:…: rejects with an SqlError where that is not possible. */
  remove(collection: string, ids: readonly string[], execution: ExecuteContext): Promise<void>;
}

export interface PrepareContext {
  readonly datastore: Datastore;
  /** Of `query_context`; names of one part are collections of this scope. */
  readonly queryContext?: { readonly bucket: string; readonly scope: string };
  /** Keyspaces without a usable index are read whole; off: error 4000 as in 7.1. */
  readonly sequentialScans: boolean;
  /** Values known already let spans and plans be exact; a prepared statement leaves them out. */
  readonly positional?: readonly Value[];
  readonly named?: ReadonlyMap<string, Value>;
  /** Functions that CREATE FUNCTION made. */
  readonly userFunctions?: UserFunctions;
  readonly isInTransaction?: boolean;
}

export interface UserFunction {
  readonly parameters: readonly string[];
  readonly isVariadic: boolean;
  readonly language: 'inline' | 'javascript';
  readonly body: string;
  /** Of a function of one scope. */
  readonly place?: { readonly bucket: string; readonly scope: string };
  /** Of a function in JavaScript. */
  call?(args: readonly Value[]): Promise<Value>;
}

export interface UserFunctions {
  /** Named as in the statement; resolved with the query context by the service. */
  find(path: readonly string[]): UserFunction | undefined;
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
export interface Prepared {
  readonly text: string;
  readonly kind: StatementKind;
  readonly isReadonly: boolean;
  /** The answer's `signature`; undefined: null. */
  readonly signature: Value;
  readonly privileges: readonly Privilege[];
  /** Keyspaces read or written, for consistency vectors and checks that they still exist. */
  readonly keyspaces: readonly Keyspace[];
  /** Ids of the indexes its plan scans: prepare again when one is gone. */
  readonly indexIds: readonly string[];
  /** The operator tree as EXPLAIN shows it. */
  readonly explain: Value;
  /** Names of the parameters, without `$`; positional ones as numbers from 1. */
  readonly parameters: readonly string[];
  /** Of EXECUTE: the prepared statement's name. The service looks it up and runs it with `using`. */
  readonly execute?: { readonly name: string; readonly using: Value };
  /** The engine's own form. */
  readonly program: Program;
}

/** Only the engine looks inside. */
export interface Program {
  run(prepared: Prepared, context: ExecuteContext): Execution;
}

export interface ScratchFile {
  /** Appends and answers where it lies. Rejects with an SqlError when the folder's quota is used up. */
  append(bytes: Uint8Array): Promise<{ readonly offset: number; readonly length: number }>;
  read(at: { readonly offset: number; readonly length: number }): Promise<Uint8Array>;
  close(): Promise<void>;
}

export interface ExecuteContext {
  readonly datastore: Datastore;
  readonly positional: readonly Value[];
  /** Names without `$`. */
  readonly named: ReadonlyMap<string, Value>;
  /** Milliseconds since 1970 when the request came; NOW_… answer it. */
  readonly startedMs: number;
  /** Milliseconds since 1970 now; CLOCK_… answer it. */
  clockMs(): number;
  /** Grows steadily, for time slices and timings. */
  monotonicMs(): number;
  /** From 0 to below 1. */
  random(): number;
  uuid(): string;
  /** Resolves after the thread has served others: called between time slices. */
  pause(): Promise<void>;
  scratch(): Promise<ScratchFile>;
  /** 0: none of its own. */
  readonly memoryQuotaBytes: number;
  /** Sorts, groups and joins that hold more than this spill. */
  readonly spillBytes: number;
  /** DML and DDL are refused. */
  readonly isReadonly: boolean;
  readonly preserveExpiry: boolean;
  readonly durability: Durability;
  readonly consistency: (keyspace: Keyspace) => Promise<Consistency> | Consistency;
  /** 0: no end of its own. */
  readonly scanWaitMs: number;
  /** A request ends after this many failed rows. */
  readonly errorLimit: number;
  readonly signal: AbortSignal;
  readonly queryContext?: { readonly bucket: string; readonly scope: string };
  readonly userFunctions?: UserFunctions;
  /** IANA name; left out: UTC. */
  readonly timeZone?: string;
  /** VERSION(), NODE_NAME(), CURRENT_USERS() and the like, by name in lower case. */
  special?(name: string, values: readonly Value[]): Value;
  readonly users: readonly string[];
  /** Time is taken for phases and operators. */
  readonly isProfiled?: boolean;
  /** Runs what the engine does not. */
  command(command: Command, context: ExecuteContext): AsyncIterable<readonly Value[]>;
  /** Whether the request may see what a statement that it names itself (ADVISE, EXECUTE FUNCTION, a subquery text) needs. */
  authorize(privileges: readonly Privilege[]): void | Promise<void>;
}

export interface Phase {
  operators: number;
  items: number;
  ms: number;
}

/** Filled while the rows are taken; complete when they end. */
export interface Outcome {
  mutations: number;
  /** Rows that went through a sort. */
  sorted: number;
  usedBytes: number;
  /** Rows that failed while the others went on. */
  readonly errors: Error[];
  readonly warnings: Error[];
  /** By the original's names: `primaryScan`, `indexScan`, `fetch`, `filter`, `project`, `sort`, … */
  readonly phases: Map<string, Phase>;
}

export interface Execution {
  /** In batches. Rejects with an SqlError. Leaving the loop early ends the statement and frees everything. */
  readonly rows: AsyncIterable<readonly Value[]>;
  readonly outcome: Outcome;
  /** The plan with `#stats` for `profile=timings`. */
  timings(): Value;
}

export interface PrepareCommand {
  readonly kind: 'PREPARE';
  /** Left out: the service makes one of the text. */
  readonly name?: string;
  readonly isForced: boolean;
  readonly prepared: Prepared;
}

/** What the engine hands to the service. */
export type Command = PlainCommand | PrepareCommand;
