// The operators of a plan, as plain data. Each computes rows of its block from its input's rows; without an input it starts with the
// block's first row, which has the captured values. The right side of a join starts with the left row.
import type { IndexDefinition } from '../datastore/indexes.ts';
import type { Expression } from '../tree/expression.ts';
import type { Value } from '../values/value.ts';
import type { Block, Source } from './block.ts';
import type { Estimate } from './estimates.ts';
import type {
  KeyspaceRef,
  LogicalGroup,
  LogicalProjection,
  OrderTerm,
  SlotBinding,
  WindowColumn,
} from './logical.ts';
import type { NestableBounds, PlanSpan } from './spans.ts';

export type Operator =
  | { readonly op: 'start' }
  | KeyScan
  | IndexScan
  | UnionScan
  | CollectionScan
  | CatalogScan
  | CountScan
  | Fetch
  | { readonly op: 'expression scan'; readonly source: Source; readonly expression: Expression }
  | {
      readonly op: 'subquery scan';
      readonly source: Source;
      readonly plan: QueryPlan;
      /** The keyspace whose META() the rows have. */
      readonly origin: Source | undefined;
    }
  | { readonly op: 'filter'; readonly input: Operator; readonly condition: Expression }
  | { readonly op: 'let'; readonly input: Operator; readonly bindings: readonly SlotBinding[] }
  | Join
  | HashJoin
  | Unnest
  | { readonly op: 'group'; readonly input: Operator; readonly group: LogicalGroup }
  | { readonly op: 'window'; readonly input: Operator; readonly columns: readonly WindowColumn[] }
  | { readonly op: 'project'; readonly input: Operator; readonly projection: LogicalProjection }
  | { readonly op: 'distinct'; readonly input: Operator; readonly slot: number }
  | Order
  | ({ readonly op: 'offset'; readonly input: Operator; readonly offset: Expression } & MaybePushed)
  | ({ readonly op: 'limit'; readonly input: Operator; readonly limit: Expression } & MaybePushed)
  | SetOperator
  | { readonly op: 'with'; readonly input: Operator; readonly terms: readonly WithPlan[] };

/** A clause that a scan may apply in place of this operator. */
export interface MaybePushed {
  /**
   * Absent: this operator applies the clause. Present: the scan applies the clause, unless one of these bounds of the scan is an array or an object,
   * for which its spans are wider than the predicates.
   */
  readonly unlessNested?: NestableBounds;
}

export interface KeyScan {
  readonly op: 'key scan';
  readonly source: Source;
  readonly keyspace: KeyspaceRef;
  readonly keys: Expression;
  /** Repeated keys are read once, as changes of documents require. */
  readonly isDistinct: boolean;
}

export interface IndexScan {
  readonly op: 'index scan';
  readonly source: Source;
  readonly keyspace: KeyspaceRef;
  readonly index: IndexDefinition;
  /** Empty: the whole index. */
  readonly spans: readonly PlanSpan[];
  readonly isReverse: boolean;
  /** Each document key is returned once. */
  readonly isDistinct: boolean;
  /** The keys that the scan returns: their positions in the index, and the slots that get their values. */
  readonly covers: readonly {
    readonly position: number;
    readonly slot: number;
    readonly expression: Expression;
  }[];
  /** All keys of the index as expressions of the statement, which EXPLAIN shows for a covering scan. */
  readonly keyExpressions: readonly Expression[];
  /** For a covering scan: expressions that the condition of a partial index fixes to one value, and the slots that get it. */
  readonly constants: readonly {
    readonly slot: number;
    readonly expression: Expression;
    readonly constant?: Value;
  }[];
  /** No document is read. */
  readonly isCovering: boolean;
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  /** Rows have the order of ORDER BY. */
  readonly isOrdered: boolean;
  readonly estimate: Estimate | undefined;
}

/** The document keys of all scans, each once. */
export interface UnionScan {
  readonly op: 'union scan';
  readonly source: Source;
  readonly keyspace: KeyspaceRef;
  readonly scans: readonly IndexScan[];
}

/** Scans the collection; reads bodies unless only keys are needed. */
export interface CollectionScan {
  readonly op: 'collection scan';
  readonly source: Source;
  readonly keyspace: KeyspaceRef;
  readonly keysOnly: boolean;
  /** The primary index of the keyspace, if it has one: EXPLAIN names it, but the scan reads the documents. */
  readonly index: IndexDefinition | undefined;
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
}

export interface CatalogScan {
  readonly op: 'catalog scan';
  readonly source: Source;
  readonly keyspace: KeyspaceRef;
  /** Only rows with these keys, as a key scan has them. */
  readonly keys: Expression | undefined;
  readonly isDistinct: boolean;
}

/** COUNT(*) of a whole keyspace, without rows. */
export interface CountScan {
  readonly op: 'count scan';
  readonly keyspace: KeyspaceRef;
  readonly source: Source;
  /** The slots of the aggregates whose result is this count. */
  readonly slots: readonly number[];
}

export interface Fetch {
  readonly op: 'fetch';
  readonly input: Operator;
  readonly source: Source;
  readonly keyspace: KeyspaceRef;
}

export interface Join {
  readonly op: 'join';
  readonly input: Operator;
  /** Starts with each row of `input`. */
  readonly right: Operator;
  /** A row of `input` without a match is returned, too. */
  readonly isOuter: boolean;
  readonly condition: Expression | undefined;
  /** The slots that `right` sets. */
  readonly slots: readonly number[];
  /** The term after JOIN or NEST. */
  readonly source: Source;
  /** NEST: the matches become one array in this slot. */
  readonly nestSlot: number | undefined;
  /** `right` reads documents by key. */
  readonly isLookup: boolean;
  /** The rows of `right` do not depend on the row of `input`: `right` runs once, and its rows are cached. */
  readonly isConstant: boolean;
}

/** As `Join`; `right` runs once, and a hash table finds the rows whose keys are equal. */
export interface HashJoin {
  readonly op: 'hash join';
  readonly input: Operator;
  readonly right: Operator;
  readonly isOuter: boolean;
  /** Over the rows of `input`. */
  readonly leftKeys: readonly Expression[];
  /** Over the rows of `right`, in the order of `leftKeys`. */
  readonly rightKeys: readonly Expression[];
  readonly condition: Expression | undefined;
  readonly slots: readonly number[];
  readonly source: Source;
  readonly nestSlot: number | undefined;
}

export interface Unnest {
  readonly op: 'unnest';
  readonly input: Operator;
  readonly isOuter: boolean;
  readonly expression: Expression;
  readonly source: Source;
}

export interface Order {
  readonly op: 'order';
  readonly input: Operator;
  readonly terms: readonly OrderTerm[];
  /** Only this many rows after the first `offset` ones are needed; the operators `offset` and `limit` select them. */
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
}

export interface SetOperator {
  readonly op: 'set operation';
  readonly operator: 'union' | 'intersect' | 'except';
  readonly isAll: boolean;
  readonly left: QueryPlan;
  /** undefined for a single query in parentheses. */
  readonly right: QueryPlan | undefined;
  readonly resultSlot: number;
  /** Slots of result fields that ORDER BY uses, by name. */
  readonly fields: ReadonlyMap<string, number>;
}

/** As `LogicalWith`. */
export interface WithPlan {
  readonly alias: string;
  readonly slot: number;
  readonly expression: Expression;
  readonly recursive: { readonly isAll: boolean; readonly step: QueryPlan } | undefined;
}

/** The plan of a SELECT: `resultSlot` of the rows of `root` has the results. */
export interface QueryPlan {
  readonly block: Block;
  readonly root: Operator;
  readonly resultSlot: number;
  /** Slots of expressions that a covering index provides, by expression key. */
  readonly covered: ReadonlyMap<string, number>;
}
