// The types of a query with its names resolved: every expression reads slots of its block's rows.
import type { Keyspace, KeyspaceName } from '../datastore/keyspace.ts';
import type { Aggregate, Expression, WindowSpecification } from '../tree/expression.ts';
import type { Hints, Use } from '../tree/query.ts';
import type { Block, Source } from './block.ts';

export interface LogicalSelect {
  readonly block: Block;
  /** Evaluated in order, before everything else. */
  readonly with: readonly LogicalWith[];
  readonly body: LogicalBody;
  readonly order: readonly OrderTerm[];
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
}

export interface LogicalWith {
  readonly alias: string;
  readonly slot: number;
  readonly expression: Expression;
  /** WITH RECURSIVE: `expression` has the first rows, and `step` computes the next ones from the rows of the previous step. */
  readonly recursive?: { readonly isAll: boolean; readonly step: LogicalSelect };
}

export type LogicalBody = LogicalSubselect | LogicalSetOperation;

export interface LogicalSetOperation {
  readonly kind: 'set operation';
  readonly operator: 'union' | 'intersect' | 'except';
  readonly isAll: boolean;
  /** The operands, each in its own block; their outer block is that of the enclosing SELECT. */
  readonly left: LogicalSelect;
  /** undefined for a single query in parentheses. */
  readonly right: LogicalSelect | undefined;
  /** The slot of the result in this block's rows. */
  readonly resultSlot: number;
  /** Slots of result fields that ORDER BY uses, by name. */
  readonly fields: ReadonlyMap<string, number>;
}

export interface LogicalSubselect {
  readonly kind: 'subselect';
  /** The block of the SELECT, with ORDER BY and LIMIT. */
  readonly block: Block;
  readonly sources: readonly Source[];
  readonly from: LogicalFrom | undefined;
  readonly let: readonly SlotBinding[];
  readonly where: Expression | undefined;
  readonly group: LogicalGroup | undefined;
  readonly windows: readonly WindowColumn[];
  readonly projection: LogicalProjection;
  readonly hints: Hints | undefined;
}

export interface NamedExpression {
  readonly name: string;
  readonly expression: Expression;
}

/** A variable, and the slot that gets its value. */
export interface SlotBinding extends NamedExpression {
  readonly slot: number;
}

export interface LogicalGroup {
  readonly keys: readonly { readonly expression: Expression; readonly slot: number }[];
  readonly aggregates: readonly { readonly node: Aggregate; readonly slot: number }[];
  readonly letting: readonly SlotBinding[];
  readonly having: Expression | undefined;
  /** GROUP AS: the slot of the array with the rows of the group, and the members of each row in the array. */
  readonly rows: { readonly slot: number; readonly members: readonly NamedExpression[] } | undefined;
}

export interface WindowColumn {
  readonly node: Aggregate & { readonly over: WindowSpecification };
  readonly slot: number;
}

export interface LogicalProjection {
  readonly isDistinct: boolean;
  readonly isRaw: boolean;
  readonly terms: readonly ProjectionTerm[];
  /** EXCLUDE: paths that are removed from the result. */
  readonly exclude: readonly Expression[];
  /** The slot that gets the result. */
  readonly resultSlot: number;
}

export type ProjectionTerm =
  /** `*`: all aliases and variables in scope. */
  | { readonly kind: 'all'; readonly members: readonly NamedExpression[] }
  /** `of.*` */
  | { readonly kind: 'star'; readonly of: Expression }
  | {
      readonly kind: 'term';
      readonly alias: string;
      /** The statement names the alias. */
      readonly isExplicit: boolean;
      readonly expression: Expression;
    };

/** `isDescending` and `nulls` are expressions where they are parameters. */
export interface OrderTerm {
  readonly expression: Expression;
  readonly isDescending: boolean | Expression;
  /** Whether NULL and MISSING are first or last; undefined: first if ascending, last if descending. */
  readonly nulls: 'first' | 'last' | Expression | undefined;
}

export type LogicalFrom =
  | KeyspaceFrom
  | {
      readonly kind: 'expression';
      readonly source: Source;
      readonly expression: Expression;
      readonly use: Use;
    }
  | {
      readonly kind: 'subquery';
      readonly source: Source;
      readonly select: LogicalSelect;
      readonly use: Use;
      /** The keyspace whose META() the rows of the subquery have. */
      readonly origin: Source | undefined;
    }
  | JoinFrom
  | NestFrom
  | UnnestFrom;

export interface KeyspaceFrom {
  readonly kind: 'keyspace';
  readonly source: Source;
  readonly keyspace: KeyspaceRef;
  /** USE KEYS. */
  readonly keys: Expression | undefined;
  readonly use: Use;
}

/** A keyspace that a statement names, and that exists. */
export interface KeyspaceRef {
  readonly name: KeyspaceName;
  /** undefined for a keyspace of the catalog. */
  readonly keyspace: Keyspace | undefined;
}

export type JoinSide = Extract<LogicalFrom, { kind: 'keyspace' | 'expression' | 'subquery' }>;

export type JoinOn =
  /** `ON condition`; without a condition all rows match. */
  | { readonly kind: 'on'; readonly condition: Expression | undefined }
  /** `ON KEYS keys`: the keys of the documents on the right side. */
  | { readonly kind: 'keys'; readonly keys: Expression }
  /** `ON KEY key FOR outer`: documents on the right side in which `key` is the key of the outer document. */
  | { readonly kind: 'key for'; readonly key: Expression; readonly outer: Source };

export interface JoinFrom {
  readonly kind: 'join';
  readonly join: 'inner' | 'left' | 'right';
  readonly left: LogicalFrom;
  readonly right: JoinSide;
  readonly on: JoinOn;
  readonly isLateral: boolean;
}

export interface NestFrom {
  readonly kind: 'nest';
  readonly join: 'inner' | 'left';
  readonly left: LogicalFrom;
  readonly right: JoinSide;
  readonly on: JoinOn;
  /** The source on the right side; its slot gets the array of matches. */
  readonly source: Source;
}

export interface UnnestFrom {
  readonly kind: 'unnest';
  readonly join: 'inner' | 'left';
  readonly left: LogicalFrom;
  readonly expression: Expression;
  readonly source: Source;
}
