// Computes the ranges of an index key that a predicate allows (search arguments). A range may be wider than the predicate: the predicate is
// evaluated again, unless the range is exact.

import type { Expression } from '../tree/expression.ts';
import { notInText } from '../tree/identifier.ts';
import { isVolatile, readsAny } from './conjuncts.ts';
import { expressionKey, sameExpression } from './expression-key.ts';
import { freeName } from './free-names.ts';
import { passesNull } from './null-passing.ts';
import { hasOnlyPoints, isEverything, isNull, isPoint, type PlanBound, type PlanRange } from './spans.ts';

export interface Sarg {
  /** A union of ranges. */
  readonly ranges: readonly PlanRange[];
  /** The predicate is true for all values in the ranges, so that it need not be evaluated again. */
  readonly isExact: boolean;
}

/** What the planner knows when it computes the ranges of a scan. */
export interface SargContext {
  /** Slots of the scanned source, which bounds must not read. */
  readonly ownSlots: ReadonlySet<number>;
  /** Whether all slots that the expression reads are set when the scan begins. */
  isReadable(expression: Expression): boolean;
  /** As in `PlanningContext`. */
  constantOf(expression: Expression): { readonly value: unknown } | undefined;
  /** Collation order. */
  compare(a: unknown, b: unknown): number;
}

/** NULL as a bound that the planner adds: its `at` distinguishes it from a NULL of the statement, to which no value is equal. */
const plannerNull: Expression = { kind: 'constant', value: null, at: notInText };
const aboveNull: PlanBound = { value: plannerNull, isInclusive: false };
const fromNull: PlanBound = { value: plannerNull, isInclusive: true };

function range(low: PlanBound | undefined, high: PlanBound | undefined, isExact = true): Sarg {
  return { ranges: [{ kind: 'range', low, high }], isExact };
}

/** All values above NULL: the predicate is true for none but them. */
const valued = range(aboveNull, undefined, false);

/** All values but MISSING. */
const notMissing = range(fromNull, undefined, false);

/** The ranges that one predicate allows; undefined if it may be true for every value of the key. */
export function sargOf(key: Expression, predicate: Expression, context: SargContext): Sarg | undefined {
  // The key itself as the predicate: in collation order all values that count as true are above FALSE.
  if (predicate.kind !== 'constant' && sameExpression(key, predicate))
    return range(bound({ kind: 'constant', value: false, at: notInText }, false), undefined, false);
  switch (predicate.kind) {
    case 'comparison':
      return comparison(key, predicate, context);
    case 'between':
      return between(key, predicate, context);
    case 'is':
      return nullTest(key, predicate);
    case 'like':
      return like(key, predicate, context);
    case 'membership':
      return membership(key, predicate, context);
    case 'logical':
      return logical(key, predicate, context);
    case 'not':
      return negation(key, predicate.of);
    default:
      return undefined;
  }
}

type KnownSargs = Map<Expression, Map<Expression, Sarg | undefined>>;

const known = new WeakMap<SargContext, KnownSargs>();

/** `sargOf`, computed once for each key and predicate: each side of an OR is matched together with all other predicates. */
export function knownSargOf(key: Expression, predicate: Expression, context: SargContext): Sarg | undefined {
  const ofContext: KnownSargs = known.get(context) ?? new Map();
  const ofKey = ofContext.get(key) ?? new Map<Expression, Sarg | undefined>();
  const found = ofKey.get(predicate);
  if (found !== undefined || ofKey.has(predicate)) return found;
  const sarg = sargOf(key, predicate, context);
  known.set(context, ofContext);
  ofContext.set(key, ofKey);
  ofKey.set(predicate, sarg);
  return sarg;
}

/** The ranges that all predicates together allow; undefined if none restricts the key. */
export function sargOfAll(
  key: Expression,
  predicates: readonly Expression[],
  context: SargContext,
): Sarg | undefined {
  let merged: Sarg | undefined;
  for (const predicate of predicates) {
    const sarg = knownSargOf(key, predicate, context);
    if (sarg) merged = merged ? intersect(merged, sarg) : sarg;
  }
  return merged;
}

function bound(value: Expression, isInclusive: boolean): PlanBound {
  return { value, isInclusive };
}

/** Whether the value can be a bound: it is the same for all rows of the scan, and known when the scan begins. */
function isBindable(value: Expression, context: SargContext): boolean {
  return (
    value.kind === 'constant' ||
    (!readsAny(value, context.ownSlots) &&
      !isVolatile(value) &&
      freeName(value) === undefined &&
      context.isReadable(value))
  );
}

/** The operators for exchanged sides. */
const mirrored = { '=': '=', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

function comparison(
  key: Expression,
  node: Extract<Expression, { kind: 'comparison' }>,
  context: SargContext,
): Sarg | undefined {
  if (sameExpression(key, node.left) && isBindable(node.right, context))
    return compared(node.operator, node.right);
  if (sameExpression(key, node.right) && isBindable(node.left, context))
    return compared(mirrored[node.operator], node.left);
  return rejectsNull(key, node.left) || rejectsNull(key, node.right) ? valued : undefined;
}

function compared(operator: keyof typeof mirrored, value: Expression): Sarg {
  const isExact = comparesExactly(value);
  switch (operator) {
    case '=':
      return range(bound(value, true), bound(value, true), isExact);
    case '<':
      return range(aboveNull, bound(value, false), isExact);
    case '<=':
      return range(aboveNull, bound(value, true), isExact);
    case '>':
      return range(bound(value, false), undefined, isExact);
    case '>=':
      return range(bound(value, true), undefined, isExact);
    case '!=':
      return valued;
  }
}

/** Whether the range of a comparison with the value is exact. NULL within an array or an object makes a comparison with another one NULL, while an index has an order for it. */
function comparesExactly(value: Expression): boolean {
  if (value.kind === 'constant') return typeof value.value !== 'object' || value.value === null;
  return value.kind !== 'array' && value.kind !== 'object' && value.kind !== 'comprehension';
}

function between(
  key: Expression,
  node: Extract<Expression, { kind: 'between' }>,
  context: SargContext,
): Sarg | undefined {
  if (!sameExpression(key, node.of)) return rejectsNull(key, node.of) ? valued : undefined;
  if (node.isNegated) return valued;
  const low = isBindable(node.low, context);
  const high = isBindable(node.high, context);
  if (!low && !high) return valued;
  return range(
    low ? bound(node.low, true) : aboveNull,
    high ? bound(node.high, true) : undefined,
    low && high && comparesExactly(node.low) && comparesExactly(node.high),
  );
}

/** `key IS [NOT] NULL`, `MISSING` or `VALUED`. */
function nullTest(key: Expression, node: Extract<Expression, { kind: 'is' }>): Sarg | undefined {
  if (!sameExpression(key, node.of)) {
    if (node.isNegated === (node.test !== 'valued') && rejectsNull(key, node.of))
      return range(fromNull, undefined, false);
    return undefined;
  }
  switch (node.test) {
    case 'null':
      return node.isNegated ? range(aboveNull, undefined) : range(fromNull, fromNull);
    case 'missing':
      return node.isNegated
        ? range(fromNull, undefined)
        : range(undefined, { value: plannerNull, isInclusive: false });
    case 'valued':
      return node.isNegated ? range(undefined, fromNull) : range(aboveNull, undefined);
  }
}

function like(
  key: Expression,
  node: Extract<Expression, { kind: 'like' }>,
  context: SargContext,
): Sarg | undefined {
  if (!sameExpression(key, node.of)) return rejectsNull(key, node.of) ? valued : undefined;
  if (node.isNegated || !isBindable(node.pattern, context)) return valued;
  if (node.escape && !isBindable(node.escape, context)) return valued;
  return {
    ranges: [{ kind: 'like', pattern: node.pattern, escape: node.escape }],
    isExact: isPrefixPattern(context.constantOf(node.pattern)?.value),
  };
}

/** Whether the pattern is a prefix and a final `%`: then it matches exactly the strings with the prefix. */
function isPrefixPattern(pattern: unknown): boolean {
  return typeof pattern === 'string' && /^[^%_\\]*%$/.test(pattern);
}

function membership(
  key: Expression,
  node: Extract<Expression, { kind: 'membership' }>,
  context: SargContext,
): Sarg | undefined {
  if (node.isNegated) return outside(key, node);
  if (!sameExpression(key, node.of)) return rejectsNull(key, node.of) ? valued : undefined;
  if (node.operator === 'within' || !isBindable(node.list, context)) return valued;
  if (node.list.kind === 'array') {
    const points = node.list.items.map((item): PlanRange => {
      return { kind: 'range', low: bound(item, true), high: bound(item, true) };
    });
    return { ranges: points, isExact: node.list.items.every(comparesExactly) };
  }
  return { ranges: [{ kind: 'each', list: node.list }], isExact: true };
}

/** `key NOT IN list`: true for NULL if the list is empty, as that of a parameter may be. */
function outside(
  key: Expression,
  { of, operator, list }: Extract<Expression, { kind: 'membership' }>,
): Sarg | undefined {
  const items = list.kind === 'array' ? list.items : list.kind === 'constant' ? list.value : undefined;
  const hasItems = operator === 'in' && Array.isArray(items) && items.length > 0;
  if (hasItems) return rejectsNull(key, of) ? valued : undefined;
  return sameExpression(key, of) ? notMissing : undefined;
}

function logical(
  key: Expression,
  node: Extract<Expression, { kind: 'logical' }>,
  context: SargContext,
): Sarg | undefined {
  if (node.operator === 'or') return disjunction(key, node.operands, context);
  const parts = node.operands.map((operand) => sargOf(key, operand, context));
  const sargs = parts.filter((part) => part !== undefined);
  if (sargs.length === 0) return undefined;
  const merged = sargs.reduce((a, b) => intersect(a, b));
  return sargs.length === parts.length ? merged : { ...merged, isExact: false };
}

function disjunction(
  key: Expression,
  operands: readonly Expression[],
  context: SargContext,
): Sarg | undefined {
  const parts: Sarg[] = [];
  for (const operand of operands) {
    const part = sargOf(key, operand, context);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return { ranges: parts.flatMap((part) => part.ranges), isExact: parts.every((part) => part.isExact) };
}

function negation(key: Expression, negated: Expression): Sarg | undefined {
  if (negated.kind === 'is') return nullTest(key, { ...negated, isNegated: !negated.isNegated });
  if (negated.kind === 'comparison')
    return rejectsNull(key, negated.left) || rejectsNull(key, negated.right) ? valued : undefined;
  if (negated.kind === 'membership' && !negated.isNegated) return outside(key, negated);
  if (negated.kind === 'between' || negated.kind === 'like' || negated.kind === 'membership')
    return rejectsNull(key, negated.of) ? valued : undefined;
  return undefined;
}

/** The intersection. Of two bounds of one side, except NULL, it keeps the first without comparing them, so that the result may be wider. */
function intersect(a: Sarg, b: Sarg): Sarg {
  if (a.ranges.length === 1 && isEverything(a.ranges[0] as PlanRange)) return b;
  if (b.ranges.length === 1 && isEverything(b.ranges[0] as PlanRange)) return a;
  if (a.ranges.length !== 1 || b.ranges.length !== 1)
    return { ranges: narrower(a, b).ranges, isExact: false };
  const [left, right] = [a.ranges[0] as PlanRange, b.ranges[0] as PlanRange];
  if (left.kind !== 'range' || right.kind !== 'range')
    return { ranges: narrower(a, b).ranges, isExact: false };
  const low = tighter(left.low, right.low);
  const high = tighter(left.high, right.high);
  if (isPoint(left)) return { ranges: a.ranges, isExact: a.isExact && includesPoints(right) };
  if (isPoint(right)) return { ranges: b.ranges, isExact: b.isExact && includesPoints(left) };
  return {
    ranges: [{ kind: 'range', low: low.bound, high: high.bound }],
    isExact: a.isExact && b.isExact && low.isSure && high.isSure,
  };
}

/** Whether the range includes every point: a point is above NULL, since comparisons with NULL are never true. */
function includesPoints(other: PlanRange): boolean {
  return other.kind === 'range' && !other.high && (!other.low || isNull(other.low.value));
}

/** One of two unions of ranges in place of their intersection: that with points only, else that with fewer ranges, has probably the fewest values. */
function narrower(a: Sarg, b: Sarg): Sarg {
  const isOfPoints = a.ranges.every(hasOnlyPoints);
  if (isOfPoints !== b.ranges.every(hasOnlyPoints)) return isOfPoints ? a : b;
  return a.ranges.length <= b.ranges.length && a.ranges[0]?.kind !== 'each' ? a : b;
}

/**
 * The bound of an intersection, from two low or two high bounds: that of the statement before the planner's NULL, else the first. `isSure`: no value
 * within the bound is beyond the other one. A value below a high bound of the statement is above NULL: with the high bound NULL none is left.
 */
function tighter(
  a: PlanBound | undefined,
  b: PlanBound | undefined,
): { bound: PlanBound | undefined; isSure: boolean } {
  if (!a || !b) return { bound: a ?? b, isSure: true };
  if (isNull(a.value)) return { bound: isNull(b.value) ? (a.isInclusive ? b : a) : b, isSure: true };
  if (isNull(b.value)) return { bound: a, isSure: true };
  return {
    bound: a,
    isSure: expressionKey(a.value) === expressionKey(b.value) && a.isInclusive === b.isInclusive,
  };
}

/** Whether the expression is NULL or MISSING if the key is: a comparison with it is then never true. */
const rejectsNull = (key: Expression, node: Expression): boolean =>
  passesNull(node, (part) => sameExpression(key, part));
