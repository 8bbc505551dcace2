// Compiles operators: three-valued logic, comparison, membership, LIKE, arithmetic, concatenation.
import { sqlError } from '../errors/sql-error.ts';
import { itemsOfValue } from '../functions/array-star.ts';
import type { EvaluationContext } from '../functions/context.ts';
import { escapeCharacter, likePattern } from '../functions/like-patterns.ts';
import type {
  Arithmetic,
  ArithmeticOperator,
  Between,
  Comparison,
  Concatenation,
  Expression,
  IsTest,
  Like,
  Logical,
  Membership,
  Negation,
  Not,
} from '../tree/expression.ts';
import { add, divide, modulo, multiply, negate, subtract } from '../values/arithmetic.ts';
import { compare, equal } from '../values/comparison.ts';
import { identityOf } from '../values/identity.ts';
import { countText } from '../values/step-limit.ts';
import { isArray, isTrue } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import type { Evaluate, ExpressionCompiler } from './evaluate.ts';
import { descendants } from './navigation.ts';

const arithmetic: Readonly<Record<ArithmeticOperator, (a: Value, b: Value) => Value>> = {
  '+': add,
  '-': subtract,
  '*': multiply,
  '/': divide,
  '%': modulo,
};

export function compileArithmetic(node: Arithmetic, compiler: ExpressionCompiler): Evaluate {
  const operation = arithmetic[node.operator];
  const left = compiler.compileParsed(node.left);
  const right = compiler.compileParsed(node.right);
  return (row, context) => operation(left(row, context), right(row, context));
}

export function compileNegation(node: Negation, compiler: ExpressionCompiler): Evaluate {
  const operand = compiler.compileParsed(node.of);
  return (row, context) => negate(operand(row, context));
}

export function compileNot(node: Not, compiler: ExpressionCompiler): Evaluate {
  const operand = compiler.compileParsed(node.of);
  return (row, context) => inverted(operand(row, context));
}

function inverted(value: Value): Value {
  return value === undefined || value === null ? value : !isTrue(value);
}

/** Short-circuits at the deciding value: false for AND, true for OR. */
export function compileLogical(node: Logical, compiler: ExpressionCompiler): Evaluate {
  const operands = node.operands.map((operand) => compiler.compileParsed(operand));
  return node.operator === 'and' ? allOf(operands) : anyOf(operands);
}

function allOf(operands: readonly Evaluate[]): Evaluate {
  return (row, context) => {
    let result: Value = true;
    for (let at = 0; at < operands.length; at++) {
      const value = (operands[at] as Evaluate)(row, context);
      if (value === true) continue;
      // MISSING takes precedence over NULL.
      if (value === undefined) result = undefined;
      else if (value === null) result = result === undefined ? undefined : null;
      else if (!isTrue(value)) return false;
    }
    return result;
  };
}

function anyOf(operands: readonly Evaluate[]): Evaluate {
  return (row, context) => {
    let result: Value = false;
    for (let at = 0; at < operands.length; at++) {
      const value = (operands[at] as Evaluate)(row, context);
      if (value === false) continue;
      // NULL takes precedence over MISSING.
      if (value === null) result = null;
      else if (value === undefined) result = result === null ? null : undefined;
      else if (isTrue(value)) return true;
    }
    return result;
  };
}

export function compileComparison(node: Comparison, compiler: ExpressionCompiler): Evaluate {
  const left = compiler.compileParsed(node.left);
  const right = compiler.compileParsed(node.right);
  switch (node.operator) {
    case '=':
      return (row, context) => equal(left(row, context), right(row, context));
    case '!=':
      return (row, context) => inverted(equal(left(row, context), right(row, context)));
    case '<':
      return ordered(left, right, (order) => order < 0);
    case '<=':
      return ordered(left, right, (order) => order <= 0);
    case '>':
      return ordered(left, right, (order) => order > 0);
    case '>=':
      return ordered(left, right, (order) => order >= 0);
  }
}

function ordered(left: Evaluate, right: Evaluate, decide: (order: number) => boolean): Evaluate {
  return (row, context) => {
    const order = compare(left(row, context), right(row, context));
    return order === null || order === undefined ? order : decide(order);
  };
}

export function compileBetween(node: Between, compiler: ExpressionCompiler): Evaluate {
  const operand = compiler.compileParsed(node.of);
  const low = compiler.compileParsed(node.low);
  const high = compiler.compileParsed(node.high);
  return (row, context) => {
    const value = operand(row, context);
    const fromLow = compare(value, low(row, context));
    const toHigh = compare(value, high(row, context));
    if (fromLow === undefined || toHigh === undefined) return undefined;
    if (fromLow === null || toHigh === null) return null;
    return (fromLow >= 0 && toHigh <= 0) !== node.isNegated;
  };
}

/** The longest pattern that is kept for the next row, unless it is a constant: plans outlive the requests with long parameters. */
const keptPatternMax = 1_000;

interface TestedPattern {
  readonly pattern: string;
  readonly escape: string;
  readonly test: (text: string) => boolean;
}

export function compileLike(node: Like, compiler: ExpressionCompiler): Evaluate {
  const operand = compiler.compileParsed(node.of);
  const pattern = compiler.compileParsed(node.pattern);
  const escapeOf = node.escape === undefined ? undefined : compiler.compileParsed(node.escape);
  const longPatterns = new WeakMap<EvaluationContext, TestedPattern>();
  let lastPattern: TestedPattern | undefined;
  const isConstant = node.pattern.kind === 'constant';
  return (row, context) => {
    const value = operand(row, context);
    const text = pattern(row, context);
    const escaping = escapeOf === undefined ? '\\' : escapeOf(row, context);
    if (value === undefined || text === undefined || escaping === undefined) return undefined;
    if (typeof value !== 'string' || typeof text !== 'string' || typeof escaping !== 'string') return null;
    const isKept = isConstant || text.length <= keptPatternMax;
    let last = isKept ? lastPattern : longPatterns.get(context);
    if (last?.pattern !== text || last.escape !== escaping) {
      last = { pattern: text, escape: escaping, test: likePattern(text, escapeCharacter(escaping)) };
      if (isKept) lastPattern = last;
      else longPatterns.set(context, last);
    }
    countText(Math.min(value.length, text.length));
    return last.test(value) !== node.isNegated;
  };
}

export function compileIs(node: IsTest, compiler: ExpressionCompiler): Evaluate {
  const operand = compiler.compile(node.of);
  const { isNegated } = node;
  switch (node.test) {
    case 'missing':
      return (row, context) => (operand(row, context) === undefined) !== isNegated;
    case 'null':
      // For MISSING the result is MISSING.
      return (row, context) => {
        const value = operand(row, context);
        return value === undefined ? undefined : (value === null) !== isNegated;
      };
    case 'valued':
      return (row, context) => {
        const value = operand(row, context);
        return (value !== undefined && value !== null) !== isNegated;
      };
  }
}

/** Lists that are the same for all rows are looked up in a set from this length on. */
const lookupItemsMin = 8;

export function compileMembership(node: Membership, compiler: ExpressionCompiler): Evaluate {
  const operand = compiler.compileParsed(node.of);
  const constants = constantItems(node.list);
  const list = constants === undefined ? compiler.compile(node.list) : () => constants;
  const isStatic = constants !== undefined || isParameter(node.list);
  const { isNegated, operator } = node;
  const find = operator === 'within' ? isWithin : isStatic ? lookup() : isIn;
  return (row, context) => {
    const value = operand(row, context);
    const items = list(row, context);
    if (value === undefined || items === undefined) return undefined;
    const found = find(value, items, node, context);
    return found === true || found === false ? found !== isNegated : found;
  };
}

/** The items of an array of constants; undefined for other expressions. */
function constantItems(list: Expression): readonly Value[] | undefined {
  if (list.kind === 'constant') return isArray(list.value) ? list.value : undefined;
  if (list.kind !== 'array') return undefined;
  const values: Value[] = [];
  for (const item of list.items) {
    if (item.kind !== 'constant') return undefined;
    values.push(item.value);
  }
  return values;
}

const isParameter = ({ kind }: Expression): boolean =>
  kind === 'named parameter' || kind === 'positional parameter';

interface ItemSet {
  readonly identities: ReadonlySet<string>;
  /** The result for a value that equals no item. */
  readonly otherwise: boolean | null | undefined;
}

/** Tests membership in a set of the items' identities. Plans outlive requests, so nothing here keeps a request's list, or its set, in memory. */
function lookup(): (value: Value, list: Value) => boolean | null | undefined {
  const sets = new WeakMap<readonly Value[], ItemSet>();
  return (value, list) => {
    if (!isArray(list) || list.length < lookupItemsMin || value === null || !isPlain(value))
      return isIn(value, list);
    let set = sets.get(list);
    if (set === undefined) sets.set(list, (set = setOf(list)));
    return set.identities.has(identityOf(value)) || set.otherwise;
  };
}

function setOf(items: readonly Value[]): ItemSet {
  const known = items.filter((item) => item !== null && item !== undefined);
  return { identities: new Set(known.map(identityOf)), otherwise: noneOf(items) };
}

/** Equality of arrays and objects can be NULL, which a lookup by identity cannot return. */
function isPlain(value: Value): boolean {
  return typeof value !== 'object';
}

function isIn(value: Value, list: Value): boolean | null | undefined {
  const items = itemsOfValue(list);
  return items === undefined ? null : among(value, items);
}

function isWithin(
  value: Value,
  list: Value,
  owner: object,
  context: EvaluationContext,
): boolean | null | undefined {
  const items = descendants(list, owner, context);
  return items === undefined ? null : among(value, items);
}

function among(value: Value, items: readonly Value[]): boolean | null | undefined {
  if (value !== null) {
    for (let at = 0; at < items.length; at++) {
      if (equal(value, items[at]) !== true) continue;
      countText(at);
      return true;
    }
    countText(items.length);
  }
  if (value === null && items.some((item) => item !== undefined)) return null;
  return noneOf(items);
}

/** The result when no item is equal: NULL or MISSING if an item is that. */
function noneOf(items: readonly Value[]): boolean | null | undefined {
  if (items.includes(null)) return null;
  return items.includes(undefined) ? undefined : false;
}

export function compileConcatenation(node: Concatenation, compiler: ExpressionCompiler): Evaluate {
  const operands = node.operands.map((operand) => compiler.compileParsed(operand));
  return (row, context) => {
    let text: string | null = '';
    for (let at = 0; at < operands.length; at++) {
      const value = (operands[at] as Evaluate)(row, context);
      if (value === undefined) return undefined;
      if (typeof value !== 'string') text = null;
      else if (text !== null) text += value;
    }
    if (text !== null) countText(text.length);
    if (text !== null && text.length > textMax) throw sqlError(5035, '||');
    return text;
  };
}

/** The longest text that `||` creates, in UTF-16 units. */
const textMax = 64 * 1024 * 1024;
