// The engine's interface to the index service: the indexes of a keyspace, and scans over them. Implemented over index files by
// src/index, and in memory for tests.
import type { Value } from '../values/value.ts';
import type { StoredDocument } from './documents.ts';
import type { Keyspace } from './keyspace.ts';

export type IndexState = 'deferred' | 'building' | 'online' | 'offline';

export interface IndexKey {
  /** The key's expression as text in canonical form, over the document (`self`): `` `address`.`city` ``, `(distinct (array …))`. */
  readonly expression: string;
  readonly isDescending: boolean;
  /** INCLUDE MISSING: the index has rows whose leading key is MISSING. */
  readonly includesMissing: boolean;
  /** An array key has a row for each element (`all`), or for each distinct one (`distinct`). */
  readonly array?: 'all' | 'distinct';
}

/** The definition of CREATE INDEX. Stored, so only plain data. */
export interface IndexDefinition {
  /** 16 hexadecimal digits; never reused. */
  readonly id: string;
  readonly name: string;
  readonly keyspace: Keyspace;
  readonly isPrimary: boolean;
  /** Empty for a primary index. */
  readonly keys: readonly IndexKey[];
  /** WHERE of a partial index, canonical text. */
  readonly condition?: string;
  /** PARTITION BY: stored and shown; without effect, since every node has the whole index. */
  readonly partition?: { readonly expressions: readonly string[]; readonly partitions: number };
  readonly isDeferred: boolean;
  /** The requested number of further nodes with the index. All nodes have it in any case. */
  readonly replicas: number;
}

/** What CREATE INDEX asks for. */
export interface NewIndex extends Omit<IndexDefinition, 'id' | 'replicas'> {
  /** Absent: the number of `nodes` minus one, or the default of the cluster. */
  readonly replicas?: number;
  /** The requested nodes of the index by name, `host:8091`. */
  readonly nodes?: readonly string[];
}

/** What ALTER INDEX asks for. */
export interface IndexChange {
  /** `move`, `replica_count` or `drop_replica`, else the cluster manager refuses the change. */
  readonly action: string;
  readonly replicas?: number;
  readonly replicaId?: number;
  readonly nodes?: readonly string[];
}

export interface IndexStatus {
  readonly definition: IndexDefinition;
  readonly state: IndexState;
  /** Percent of the build. */
  readonly progress: number;
  /** Why the index is offline, or which documents it lacks. */
  readonly message?: string;
  /** Milliseconds since 1970; 0: never. */
  readonly lastScanMs: number;
}

/** One bound of a key; absent: unbounded on that side. */
export interface Bound {
  readonly value: Value;
  readonly isInclusive: boolean;
}

/** Bounds by key position from the first on; further keys are unbounded. */
export interface Span {
  readonly ranges: readonly { readonly low?: Bound; readonly high?: Bound }[];
}

/** The changes that the index must include before a scan starts. */
export type Consistency =
  | { readonly kind: 'not_bounded' }
  /** By vbucket: at least this seqno of this history (uuid 0n: any). */
  | {
      readonly kind: 'at';
      readonly vector: ReadonlyMap<number, { readonly seqno: number; readonly uuid: bigint }>;
      /** Reads the vector again when an index has another history. Rejects when the history of the request's vector has ended. */
      readonly renew?: () => Promise<Consistency>;
    };

export interface IndexScan {
  readonly index: IndexDefinition;
  /** The scan returns rows of any span, each once. Empty: all rows. */
  readonly spans: readonly Span[];
  readonly isReverse: boolean;
  /** Positions of the keys to return; empty: only ids. */
  readonly keys: readonly number[];
  /** Returns each id once, even if several rows of an array key match. Then rows have no order. */
  readonly isDistinct: boolean;
  readonly offset: number;
  /** Infinity: all. */
  readonly limit: number;
  readonly consistency: Consistency;
  /** Timeout for consistency; 0: that of the index service. After it the scan fails with IndexScanTimeout. */
  readonly waitMs: number;
  /** Documents that a transaction has changed, by id, which replace the stored ones; null: removed. */
  readonly changed?: ReadonlyMap<string, StoredDocument | null>;
  readonly signal: AbortSignal;
  /** `scanNow` has found that there are many rows. */
  readonly hasManyRows?: boolean;
  /** Called between spans, since very many spans may have no row. Returns a promise when other requests are due. */
  yieldIfDue?(): Promise<void> | undefined;
}

export interface IndexRow {
  readonly id: string;
  /** In the order of `IndexScan.keys`. */
  readonly keys: readonly Value[];
}

/** Figures for choosing among indexes and for the catalog. */
export interface IndexFigures {
  readonly rows: number;
  readonly diskBytes: number;
}

export interface Indexes {
  /** The indexes of a keyspace in all states, by the last report. Synchronous, since planning never waits. */
  indexesOf(keyspace: Keyspace): readonly IndexStatus[];
  /** Rows in index order, in batches. Leaving the loop early frees all resources. */
  scan(scan: IndexScan): AsyncIterable<readonly IndexRow[]>;
  /** All rows of a scan of one span, if they are few and the scan need not wait for changes. Absent: only `scan` returns rows. */
  scanNow?(scan: IndexScan): readonly IndexRow[] | 'many' | 'waits';
  figures(index: IndexDefinition): Promise<IndexFigures>;
}

/** Changes of definitions: DDL. Errors are SqlErrors with the published codes (4300 exists, 12016 not found, …). */
export interface IndexAdmin {
  /** Resolves when the index is online, or for a deferred one known. After an abort the build continues in the background. */
  create(definition: NewIndex, options: { ifNotExists: boolean; signal: AbortSignal }): Promise<void>;
  drop(keyspace: Keyspace, name: string, options: { ifExists: boolean }): Promise<void>;
  /** Starts building deferred indexes and resolves when they are online. */
  build(keyspace: Keyspace, names: readonly string[], signal: AbortSignal): Promise<void>;
  alter(keyspace: Keyspace, name: string, change: IndexChange): Promise<void>;
}
