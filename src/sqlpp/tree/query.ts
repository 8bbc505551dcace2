// The syntax tree of expressions and queries, in one file since they contain each other and files must not import each other. Trees are immutable plain data
// after parsing; `at` is the offset of a node's first character in the statement, or `notInText` for a node that planning adds.
import type { Value } from '../values/value.ts';

// ---------- expressions

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

export interface Subquery {
  readonly kind: 'subquery';
  readonly select: Select;
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

// ---------- queries

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

/** `direction` and `nulls` are expressions where they are parameters. */
export interface SortTerm {
  readonly expression: Expression;
  readonly direction: 'asc' | 'desc' | NamedParameter | PositionalParameter | undefined;
  readonly nulls: 'first' | 'last' | NamedParameter | PositionalParameter | undefined;
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
