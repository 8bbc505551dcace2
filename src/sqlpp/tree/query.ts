// The syntax tree of queries. FROM terms are in the same file, since they contain queries, and files must not import each other.
import type { Expression, SortTerm, WindowSpecification } from './expression.ts';

declare module './expression.ts' {
  interface Subquery {
    readonly select: Select;
  }
}

export interface Select {
  readonly kind: 'select';
  readonly with: With | undefined;
  readonly body: SelectBody;
  readonly orderBy: readonly SortTerm[];
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  readonly at: number;
}

export type SelectBody = Subselect | SetOperation | NestedSelect;

export interface With {
  readonly isRecursive: boolean;
  readonly terms: readonly WithTerm[];
}

export interface WithTerm {
  readonly alias: string;
  /** A subquery or any other expression. */
  readonly expression: Expression;
  readonly at: number;
}

export interface SetOperation {
  readonly kind: 'set operation';
  readonly operator: 'union' | 'intersect' | 'except';
  readonly isAll: boolean;
  readonly left: SelectBody;
  readonly right: SelectBody;
}

/** A query in parentheses as an operand of a set operation. */
export interface NestedSelect {
  readonly kind: 'nested select';
  readonly select: Select;
}

export interface Subselect {
  readonly kind: 'subselect';
  readonly hints: Hints | undefined;
  readonly projection: Projection;
  readonly from: FromTerm | undefined;
  readonly let: readonly Binding[];
  readonly where: Expression | undefined;
  readonly group: Group | undefined;
  readonly windows: readonly { readonly name: string; readonly window: WindowSpecification }[];
  readonly at: number;
}

/** `name = expression` of LET, LETTING and WITH. */
export interface Binding {
  readonly name: string;
  readonly expression: Expression;
  readonly at: number;
}

export interface Group {
  /** Empty for LETTING or HAVING without GROUP BY. */
  readonly by: readonly { readonly expression: Expression; readonly alias: string | undefined }[];
  /** GROUP AS name. */
  readonly as: string | undefined;
  readonly letting: readonly Binding[];
  readonly having: Expression | undefined;
}

export interface Projection {
  readonly isDistinct: boolean;
  /** RAW, ELEMENT, VALUE: exactly one term, the row is its value. */
  readonly isRaw: boolean;
  readonly terms: readonly ResultTerm[];
  /** EXCLUDE: paths to remove from each row. */
  readonly exclude: readonly Expression[];
}

export type ResultTerm =
  /** `*` (without `of`) or `of.*` */
  | { readonly kind: 'star'; readonly of: Expression | undefined; readonly at: number }
  | { readonly kind: 'term'; readonly expression: Expression; readonly alias: string | undefined };

/** The text of `/*+ … *\/` after its plus, and the parsed hints. */
export interface Hints {
  readonly text: string;
  readonly hints: readonly Hint[];
}

/** An unknown or malformed hint has `problem`. */
export interface Hint {
  /** In lower case. */
  readonly name: string;
  readonly arguments: readonly string[];
  readonly problem: string | undefined;
}

// ---------- FROM

export type FromTerm = SimpleTerm | Join | Nest | Unnest;

export type SimpleTerm = KeyspaceTerm | ExpressionTerm | SubqueryTerm;

/** A path as written. Without a namespace it has one part (resolved with the query context) or three, or two for a scope. */
export interface KeyspacePath {
  readonly namespace: string | undefined;
  readonly parts: readonly string[];
  readonly at: number;
}

export interface KeyspaceTerm {
  readonly kind: 'keyspace';
  readonly path: KeyspacePath;
  /**
   * Only for a path without namespace and brackets: the same as an expression, which applies if its first name is an alias or a
   * variable in scope.
   */
  readonly expression: Expression | undefined;
  readonly alias: string | undefined;
  readonly use: Use;
  readonly at: number;
}

export interface ExpressionTerm {
  readonly kind: 'expression';
  /** If `use.keys` is set, a parameter whose value is the path of a keyspace. */
  readonly expression: Expression;
  readonly alias: string | undefined;
  readonly use: Use;
  readonly at: number;
}

export interface SubqueryTerm {
  readonly kind: 'subquery term';
  readonly select: Select;
  readonly alias: string;
  readonly use: Use;
  readonly at: number;
}

export interface Use {
  readonly keys: Expression | undefined;
  readonly indexes: readonly IndexRef[];
  readonly join: 'hash build' | 'hash probe' | 'nl' | undefined;
}

export interface IndexRef {
  /** Left out: any index of the kind `using`. */
  readonly name: string | undefined;
  readonly using: IndexUsing | undefined;
}

export type IndexUsing = 'gsi' | 'view' | 'fts';

export type JoinCondition =
  | { readonly kind: 'on'; readonly condition: Expression }
  /** `ON KEYS keys`: the right side's keys from the left's row. */
  | { readonly kind: 'on keys'; readonly keys: Expression }
  /** `ON KEY key FOR alias`: the right side's expression yields the key of `alias`. */
  | { readonly kind: 'on key'; readonly key: Expression; readonly for: string }
  /** A comma. */
  | { readonly kind: 'none' };

export interface Join {
  readonly kind: 'join';
  readonly join: 'inner' | 'left' | 'right';
  readonly left: FromTerm;
  readonly right: SimpleTerm;
  readonly on: JoinCondition;
  /** LATERAL before the right side: it may name aliases of the left. */
  readonly isLateral: boolean;
  readonly at: number;
}

export interface Nest {
  readonly kind: 'nest';
  readonly join: 'inner' | 'left';
  readonly left: FromTerm;
  readonly right: SimpleTerm;
  readonly on: JoinCondition;
  readonly at: number;
}

export interface Unnest {
  readonly kind: 'unnest';
  readonly join: 'inner' | 'left';
  readonly left: FromTerm;
  readonly expression: Expression;
  readonly alias: string | undefined;
  readonly at: number;
}
