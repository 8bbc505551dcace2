// The syntax tree of expressions. Trees are immutable plain data after parsing; `at` is the offset of a node's first character in the statement, or
// `notInText` for a node that planning adds.
import type { Value } from '../values/value.ts';

export type Expression =
  | Constant
  | Identifier
  | Self
  | NamedParameter
  | PositionalParameter
  | Field
  | Element
  | Slice
  | ArrayStar
  | Negation
  | Not
  | Exists
  | Arithmetic
  | Concatenation
  | Logical
  | Comparison
  | Between
  | Like
  | Membership
  | IsTest
  | Case
  | ObjectConstruction
  | ArrayConstruction
  | Quantified
  | Comprehension
  | Call
  | Aggregate
  | UserCall
  | Subquery
  | AllKeys
  | FlattenKeys
  | Slot;

/** A literal. MISSING is `undefined`. */
export interface Constant {
  readonly kind: 'constant';
  readonly value: Value;
  readonly at: number;
}

/** An alias, a variable, or a field of the only keyspace: name resolution decides. */
export interface Identifier {
  readonly kind: 'identifier';
  readonly name: string;
  /** Written `` `name`i ``. */
  readonly ignoresCase: boolean;
  readonly at: number;
}

/** SELF: the whole row. */
export interface Self {
  readonly kind: 'self';
  readonly at: number;
}

export interface NamedParameter {
  readonly kind: 'named parameter';
  readonly name: string;
  readonly at: number;
}

/** `$1` and the first `?` are position 1. */
export interface PositionalParameter {
  readonly kind: 'positional parameter';
  readonly position: number;
  readonly at: number;
}

/** `of.name` (the name is a constant string) and `of.[name]`. */
export interface Field {
  readonly kind: 'field';
  readonly of: Expression;
  readonly name: Expression;
  readonly ignoresCase: boolean;
  readonly at: number;
}

/** `of[index]` */
export interface Element {
  readonly kind: 'element';
  readonly of: Expression;
  readonly index: Expression;
  readonly at: number;
}

/** `of[start:end]` */
export interface Slice {
  readonly kind: 'slice';
  readonly of: Expression;
  readonly start: Expression | undefined;
  readonly end: Expression | undefined;
  readonly at: number;
}

/** `of[*]` */
export interface ArrayStar {
  readonly kind: 'array star';
  readonly of: Expression;
  readonly at: number;
}

/** `-of` */
export interface Negation {
  readonly kind: 'negation';
  readonly of: Expression;
  readonly at: number;
}

export interface Not {
  readonly kind: 'not';
  readonly of: Expression;
  readonly at: number;
}

export interface Exists {
  readonly kind: 'exists';
  readonly of: Expression;
  readonly at: number;
}

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%';

export interface Arithmetic {
  readonly kind: 'arithmetic';
  readonly operator: ArithmeticOperator;
  readonly left: Expression;
  readonly right: Expression;
  readonly at: number;
}

/** `a || b || c`, at least two operands, none of them a concatenation. */
export interface Concatenation {
  readonly kind: 'concatenation';
  readonly operands: readonly Expression[];
  readonly at: number;
}

/** `a AND b AND c`, at least two operands, none of them of the same operator. */
export interface Logical {
  readonly kind: 'logical';
  readonly operator: 'and' | 'or';
  readonly operands: readonly Expression[];
  readonly at: number;
}

export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>=';

export interface Comparison {
  readonly kind: 'comparison';
  readonly operator: ComparisonOperator;
  readonly left: Expression;
  readonly right: Expression;
  readonly at: number;
}

export interface Between {
  readonly kind: 'between';
  readonly of: Expression;
  readonly low: Expression;
  readonly high: Expression;
  readonly isNegated: boolean;
  readonly at: number;
}

export interface Like {
  readonly kind: 'like';
  readonly of: Expression;
  readonly pattern: Expression;
  /** Left out: a backslash. */
  readonly escape: Expression | undefined;
  readonly isNegated: boolean;
  readonly at: number;
}

/** `of IN list`; `of WITHIN list` includes nested values. */
export interface Membership {
  readonly kind: 'membership';
  readonly operator: 'in' | 'within';
  readonly of: Expression;
  readonly list: Expression;
  readonly isNegated: boolean;
  readonly at: number;
}

/** `of IS [NOT] NULL | MISSING | VALUED`; KNOWN is VALUED. */
export interface IsTest {
  readonly kind: 'is';
  readonly of: Expression;
  readonly test: 'null' | 'missing' | 'valued';
  readonly isNegated: boolean;
  readonly at: number;
}

export interface Case {
  readonly kind: 'case';
  /** `CASE of WHEN value …`; left out: `CASE WHEN condition …`. */
  readonly of: Expression | undefined;
  readonly whens: readonly { readonly when: Expression; readonly result: Expression }[];
  readonly otherwise: Expression | undefined;
  readonly at: number;
}

export interface ObjectConstruction {
  readonly kind: 'object';
  readonly members: readonly { readonly name: Expression; readonly value: Expression }[];
  readonly at: number;
}

export interface ArrayConstruction {
  readonly kind: 'array';
  readonly items: readonly Expression[];
  readonly at: number;
}

/** `name IN of`, `position : name IN of`; WITHIN includes nested values. */
export interface RangeBinding {
  readonly name: string;
  /** The variable of the position in an array or the name in an object. */
  readonly position: string | undefined;
  readonly of: Expression;
  readonly isDeep: boolean;
}

export interface Quantified {
  readonly kind: 'quantified';
  readonly quantifier: 'any' | 'every' | 'any and every';
  readonly bindings: readonly RangeBinding[];
  readonly satisfies: Expression;
  readonly at: number;
}

export interface Comprehension {
  readonly kind: 'comprehension';
  readonly result: 'array' | 'first' | 'object';
  /** The name of an object's member. */
  readonly name: Expression | undefined;
  readonly value: Expression;
  readonly bindings: readonly RangeBinding[];
  readonly when: Expression | undefined;
  readonly at: number;
}

/** A function of the language, by its declared name in lower case (synonyms are kept as written). */
export interface Call {
  readonly kind: 'call';
  readonly name: string;
  readonly arguments: readonly Expression[];
  readonly at: number;
}

/** An aggregate, or with `over` a window function. */
export interface Aggregate {
  readonly kind: 'aggregate';
  /** In lower case. */
  readonly name: string;
  /** Empty for COUNT(*). */
  readonly arguments: readonly Expression[];
  readonly isDistinct: boolean;
  readonly filter: Expression | undefined;
  readonly nulls: 'respect' | 'ignore' | undefined;
  /** NTH_VALUE(…) FROM LAST. */
  readonly isFromLast: boolean;
  readonly over: WindowSpecification | undefined;
  readonly at: number;
}

/** A call of a user-defined function. */
export interface UserCall {
  readonly kind: 'user call';
  readonly name: FunctionName;
  readonly arguments: readonly Expression[];
  readonly at: number;
}

/** As written: one part, or with a namespace one or three parts (bucket, scope, name). */
export interface FunctionName {
  readonly namespace: string | undefined;
  readonly parts: readonly string[];
}

/** A query as an expression. query.ts adds the member `select`: queries contain expressions, and files must not import each other. */
export interface Subquery {
  readonly kind: 'subquery';
  /** Not parsed: name resolution adds the expressions that the query captures from the outer row. */
  readonly correlation?: readonly Expression[];
  readonly at: number;
}

/** `ALL of`, `DISTINCT of`: a key of an array index. */
export interface AllKeys {
  readonly kind: 'all keys';
  readonly of: Expression;
  readonly isDistinct: boolean;
  readonly at: number;
}

/** FLATTEN_KEYS(…), in a key of an array index only. */
export interface FlattenKeys {
  readonly kind: 'flatten keys';
  readonly keys: readonly KeyTerm[];
  readonly at: number;
}

export interface KeyTerm {
  readonly expression: Expression;
  readonly isDescending: boolean;
  readonly includesMissing: boolean;
}

/** Not parsed: the planner replaces an expression by the slot that has its value (covers, aggregates, group keys). */
export interface Slot {
  readonly kind: 'slot';
  readonly slot: number;
  readonly original: Expression;
  readonly at: number;
}

// ---------- windows

export interface WindowSpecification {
  /** The named window that this one refines, or with `isReference` equals. */
  readonly base: string | undefined;
  /** `OVER name`, without parentheses. */
  readonly isReference: boolean;
  readonly partitionBy: readonly Expression[];
  readonly orderBy: readonly SortTerm[];
  readonly frame: WindowFrame | undefined;
}

export interface WindowFrame {
  readonly unit: 'rows' | 'range' | 'groups';
  readonly start: FrameBound;
  /** Left out: CURRENT ROW. */
  readonly end: FrameBound | undefined;
  readonly exclude: 'no others' | 'current row' | 'ties' | 'group';
}

export type FrameBound =
  | { readonly kind: 'unbounded preceding' | 'unbounded following' | 'current row' }
  | { readonly kind: 'preceding' | 'following'; readonly distance: Expression };

/** `direction` and `nulls` are expressions where they are parameters. */
export interface SortTerm {
  readonly expression: Expression;
  readonly direction: 'asc' | 'desc' | NamedParameter | PositionalParameter | undefined;
  readonly nulls: 'first' | 'last' | NamedParameter | PositionalParameter | undefined;
}
