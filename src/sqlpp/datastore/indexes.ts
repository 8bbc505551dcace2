// The index service as the engine uses it: the indexes of a keyspace, and scans over them. Implemented over index files by
// src/index, and in memory for tests.
import type { Value } from '../values/value.ts';
import type { StoredDocument } from './documents.ts';
import type { Keyspace } from './keyspace.ts';

export type IndexState = 'deferred' | 'building' | 'online' | 'offline';

export interface IndexKey {
  /** The key's expression as text in canonical form, of the bare document (`self` is the document): `` `address`.`city` ``, `(distinct (array …))`. */
  readonly expression: string;
  readonly isDescending: boolean;
  /** Rows whose leading key is MISSING are in the index too. */
  readonly includesMissing: boolean;
  /** An array key has an entry for each element (`all`), or for each different one (`distinct`). */
  readonly array?: 'all' | 'distinct';
}

/** The definition of CREATE INDEX. Stored, so only plain data. */
export interface IndexDefinition {
  /** 16 hexadecimal digits, never given twice. */
  readonly id: string;
  readonly name: string;
  readonly keyspace: Keyspace;
  readonly isPrimary: boolean;
  /** Empty for a primary index. */
  readonly keys: readonly IndexKey[];
  /** WHERE of a partial index, canonical text. */
  readonly condition?: string;
  /** PARTITION BY: stored and shown, without effect on one node. */
  readonly partition?: { readonly expressions: readonly string[]; readonly partitions: number };
  readonly isDeferred: boolean;
  readonly replicas: number;
}

export interface IndexStatus {
  readonly definition: IndexDefinition;
  readonly state: IndexState;
  /** 0 to 100. */
  readonly progress: number;
  /** Why it is offline, or what was left out. */
  readonly message?: string;
  /** Milliseconds since 1970; 0: never. */
  readonly lastScanMs: number;
}

/** One bound of a key; left out: unbounded on that side. */
export interface Bound {
  readonly value: Value;
  readonly inclusive: boolean;
}

/** Bounds by key position, from the first on. Shorter than the index's keys: the others are unbounded. */
export interface Span {
  readonly ranges: readonly { readonly low?: Bound; readonly high?: Bound }[];
}

/** What the index must have applied before a scan answers. */
export type Consistency =
  | { readonly kind: 'not_bounded' }
  /** By vbucket: at least this seqno of this history (uuid 0n: whatever history). */
  | {
      readonly kind: 'at';
      readonly vector: ReadonlyMap<number, { readonly seqno: number; readonly uuid: bigint }>;
      /** Reads the vector again when an index has another history. Rejects when the history that the request names no longer exists. */
      readonly renew?: () => Promise<Consistency>;
    };

export interface IndexScan {
  readonly index: IndexDefinition;
  /** Rows in any of them; overlapping spans give a row once. Empty: all rows. */
  readonly spans: readonly Span[];
  readonly isReverse: boolean;
  /** Positions of the keys that rows carry; empty: ids alone. */
  readonly keys: readonly number[];
  /** An id once, however many entries of an array key match. Needs no order. */
  readonly isDistinct: boolean;
  readonly offset: number;
  /** Infinity: all. */
  readonly limit: number;
  readonly consistency: Consistency;
  /** How long to wait for consistency; 0: as long as the index service waits at most. Over it: IndexScanTimeout. */
  readonly waitMs: number;
  /** Documents that a transaction has changed, by id: their rows are made of these; null: it has none. */
  readonly changed?: ReadonlyMap<string, StoredDocument | null>;
  readonly signal: AbortSignal;
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
  /** Of a keyspace, all states, newest state known. Synchronous: planning never waits. */
  of(keyspace: Keyspace): readonly IndexStatus[];
  /** In index order, in batches. Leaving the loop early frees everything. */
  scan(scan: IndexScan): AsyncIterable<readonly IndexRow[]>;
  /** How many rows the spans have, without reading them where that is cheaper. */
  count(scan: Omit<IndexScan, 'keys' | 'isReverse' | 'offset' | 'limit'>): Promise<number>;
  figures(index: IndexDefinition): Promise<IndexFigures>;
}

/** Changes of definitions: DDL. Errors are SqlErrors with the published codes (4300 exists, 12016 not found, …). */
export interface IndexAdmin {
  /** Resolves when the index is online (deferred ones: when it is known), or rejects. On abort it goes on in the background. */
  create(
    definition: Omit<IndexDefinition, 'id'>,
    options: { ifNotExists: boolean; signal: AbortSignal },
  ): Promise<void>;
  drop(keyspace: Keyspace, name: string, options: { ifExists: boolean }): Promise<void>;
  /** Starts building deferred indexes and resolves when they are online. */
  build(keyspace: Keyspace, names: readonly string[], signal: AbortSignal): Promise<void>;
  alter(
    keyspace: Keyspace,
    name: string,
    change: { readonly action: string; readonly replicas?: number },
  ): Promise<void>;
}
