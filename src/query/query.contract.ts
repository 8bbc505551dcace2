// The interface of query service and cluster manager for user-defined functions, their libraries and statistics of the planner, in plain
// data. The manager stores them; whenever one changes, it sends all of that kind to the query thread.
import type { ExpressionStatistics } from '#sqlpp/datastore/statistics.ts';

/** The bit of `n1ql_feat_ctrl` that disables sequential scans. */
export const noSequentialScans = 0x4000;

/** A bucket's scope by names; null for a global function. */
export type FunctionScope = { readonly bucket: string; readonly scope: string } | null;

export interface FunctionDefinition {
  readonly scope: FunctionScope;
  readonly name: string;
  readonly parameters: readonly string[];
  /** The function takes any number of arguments, as the array `args`. */
  readonly isVariadic: boolean;
  /** A SQL++ expression; with a library the name of the JavaScript function in it. */
  readonly body: string;
  /** The library of a function in JavaScript, as CREATE FUNCTION named it; absent: the body is SQL++. */
  readonly library?: string;
}

export type FunctionChange =
  | { readonly kind: 'create'; readonly definition: FunctionDefinition; readonly replaces: boolean }
  | { readonly kind: 'drop'; readonly scope: FunctionScope; readonly name: string };

export type FunctionOutcome = 'done' | 'exists' | 'not found' | { readonly refused: string };

export interface FunctionDefinitions {
  /** Resolves when the change is stored. */
  change(change: FunctionChange): Promise<FunctionOutcome>;
  all(): readonly FunctionDefinition[];
  /** Called after each change, also one by another node. */
  onChange(changed: () => void): { stop(): void };
}

/** JavaScript code whose functions CREATE FUNCTION makes known to SQL++. */
export interface FunctionLibrary {
  /** Null for a library that functions of every scope may use. */
  readonly scope: FunctionScope;
  readonly name: string;
  readonly code: string;
}

/** The most bytes of a function's body as UTF-8. */
export const functionBodyBytesMax = 64 << 10;

/** The most bytes of a library's code as UTF-8. */
export const libraryCodeBytesMax = 128 << 10;

export type LibraryChange =
  /** Replaces the library of this name. */
  | { readonly kind: 'store'; readonly library: FunctionLibrary }
  | { readonly kind: 'delete'; readonly scope: FunctionScope; readonly name: string };

export type LibraryOutcome = 'done' | 'not found' | { readonly refused: string };

export interface FunctionLibraries {
  /** Resolves when the change is stored. */
  change(change: LibraryChange): Promise<LibraryOutcome>;
  all(): readonly FunctionLibrary[];
  /** Called after each change, also one by another node. */
  onChange(changed: () => void): { stop(): void };
}

/** The addresses that CURL() may read: all, or those that begin with an allowed one and with no refused one. */
export interface CurlAllowlist {
  readonly all_access: boolean;
  readonly allowed_urls: readonly string[];
  readonly disallowed_urls: readonly string[];
}

/** The statistics of one collection, which UPDATE STATISTICS gathers for the planner. */
export interface StoredStatistics {
  readonly bucketUuid: string;
  /** Ids instead of names, so that a collection created again has none of the old one. */
  readonly collectionId: number;
  readonly expressions: readonly ExpressionStatistics[];
}

export type StatisticsChange =
  /** Replaces the statistics of these expressions. */
  | ({ readonly kind: 'store' } & StoredStatistics)
  /** `expressions`: their texts; null: all. */
  | {
      readonly kind: 'delete';
      readonly bucketUuid: string;
      readonly collectionId: number;
      readonly expressions: readonly string[] | null;
    };

export type StatisticsOutcome = 'done' | { readonly refused: string };

export interface StatisticsStore {
  /** Resolves when the change is stored. */
  change(change: StatisticsChange): Promise<StatisticsOutcome>;
  all(): readonly StoredStatistics[];
  /** Called after each change, also one by another node. */
  onChange(changed: () => void): { stop(): void };
}

/** A row of the catalog: plain JSON values; undefined members are omitted. */
export interface PlainRow {
  readonly id: string;
  readonly value: unknown;
}

/** A node with the query service, as system:nodes shows it. */
export interface QueryNodeDescription {
  readonly name: string;
  readonly services: readonly string[];
  readonly ports: Readonly<Record<string, number>>;
  readonly isThis: boolean;
}

/** Some of the rows of a node, in the order of their ids. */
export interface RowsPage {
  readonly rows: readonly PlainRow[];
  /** The last id of the page if rows follow. */
  readonly next: string | null;
}

export interface RowsOfNodes {
  /** The first page of each node. */
  readonly nodes: readonly ({ readonly node: string } & RowsPage)[];
  /** The nodes that did not answer, with reasons. */
  readonly failed: readonly { readonly node: string; readonly reason: string }[];
}

/** A prepared statement as it was sent. */
export interface PreparedText {
  /** The whole PREPARE statement. */
  readonly text: string;
  /** The statement in it. */
  readonly statement: string;
}

/** The statement that replaces an earlier prepared statement of the same name. */
export interface ReplacingStatement {
  readonly name: string;
  readonly queryContext: string;
  readonly statement: string;
}

/** The query services of the other nodes, for keyspaces of the catalog of which each node has rows of its own. Nodes are named as in system:nodes. */
export interface OtherQueryNodes {
  rows(keyspace: string): Promise<RowsOfNodes>;
  /** @throws Error when the node does not answer */
  rowsAfter(keyspace: string, node: string, after: string): Promise<RowsPage>;
  /** The statement that a client prepared on another node; null if no node that answers has it. */
  prepared(name: string, queryContext: string): Promise<PreparedText | null>;
  /** Removes the earlier statement of that name from the nodes that answer; a node that already has the new one keeps it. */
  discardPrepared(replacing: ReplacingStatement): Promise<void>;
  /** @throws Error when the node does not answer */
  remove(keyspace: string, node: string, ids: readonly string[]): Promise<void>;
}

/** The query service of this node, for the other nodes. */
export interface OwnQueryNode {
  /** The page after an id; null: the first one. */
  rows(keyspace: string, after: string | null): Promise<RowsPage>;
  remove(keyspace: string, ids: readonly string[]): Promise<void>;
  prepared(name: string, queryContext: string): Promise<PreparedText | null>;
  discardPrepared(replacing: ReplacingStatement): Promise<void>;
  /** Resolves when later requests use the definitions that the manager had at the call. */
  caughtUp(): Promise<void>;
}
