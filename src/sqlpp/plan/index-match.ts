// Matches an index with predicates: the spans to scan, and how selective they are.
import type { AllKeys, Expression } from '../tree/expression.ts';
import type { Value } from '../values/value.ts';
import { arraySargs, bestOf, type ElementSargs, ofElement } from './array-sarg.ts';
import type { Source } from './block.ts';
import { disjunctsOf, isStatic } from './conjuncts.ts';
import { sameExpression } from './expression-key.ts';
import type { BoundIndex, BoundKey } from './index-keys.ts';
import { knownSargOf, type Sarg, type SargContext, sargOf, sargOfAll } from './sarg.ts';
import { sourceSlot } from './scope.ts';
import {
  everything,
  hasOnlyPoints,
  includesMissing,
  isEverything,
  isNull,
  type PlanBound,
  type PlanRange,
  type PlanSpan,
} from './spans.ts';
import { replace } from './walk.ts';

export interface IndexMatch {
  readonly index: BoundIndex;
  readonly spans: readonly PlanSpan[];
  /** The spans are equivalent to the predicates. */
  readonly isExact: boolean;
  /** The number of bounded keys from the first on without a gap. */
  readonly depth: number;
  /** The number of bounded keys; 0 is possible if the first key includes MISSING. */
  readonly bounded: number;
  /** The number of keys with single values only. */
  readonly points: number;
  /** The index has an array key: a scan may return a document several times. */
  readonly isArray: boolean;
}

/** An UNNEST term: predicates on it are predicates on array elements. */
export interface UnnestBinding {
  readonly source: Source;
  readonly expression: Expression;
}

/** The most spans of a scan. Where the ranges of the keys have more combinations, a key is left unbounded. */
export const spansMax = 1024;

/** How the index serves the conjuncts; undefined if they may select documents that the index lacks. */
export function matchIndex(
  index: BoundIndex,
  conjuncts: readonly Expression[],
  context: SargContext,
  unnests: readonly UnnestBinding[],
): IndexMatch | undefined {
  if (!implies(conjuncts, index.condition, context)) return undefined;
  const rest = conjuncts.filter((each) => !index.condition.some((other) => sameExpression(each, other)));
  // A predicate that is also in the condition of the index bounds the leading key only if no other predicate does.
  const together =
    matchConjuncts(index, rest, context, unnests) ?? matchConjuncts(index, conjuncts, context, unnests, rest);
  const bySides = matchDisjuncts(index, rest, context, unnests);
  if (!bySides || !together) return bySides ?? together;
  const isDeeper = bySides.depth > together.depth;
  const hasMorePoints = bySides.depth === together.depth && bySides.points > together.points;
  return isDeeper || hasMorePoints ? bySides : together;
}

/** `(a = 1 AND b = 2) OR (a = 3 AND b = 4)`: the spans of all sides. */
function matchDisjuncts(
  index: BoundIndex,
  conjuncts: readonly Expression[],
  context: SargContext,
  unnests: readonly UnnestBinding[],
): IndexMatch | undefined {
  const or = conjuncts.find((each) => each.kind === 'logical' && each.operator === 'or');
  if (!or) return undefined;
  const others = conjuncts.filter((each) => each !== or);
  const disjuncts = disjunctsOf(or);
  if (disjuncts.length > spansMax) return undefined;
  const sides = disjuncts.map((side) =>
    matchConjuncts(index, [...others, ...conjunctsOfSide(side)], context, unnests),
  );
  if (sides.some((side) => side === undefined)) return undefined;
  const all = sides as IndexMatch[];
  const spans = all.flatMap((side) => side.spans);
  if (spans.length > spansMax) return undefined;
  return {
    index,
    spans,
    isExact: all.every((side) => side.isExact),
    depth: Math.min(...all.map((side) => side.depth)),
    bounded: Math.min(...all.map((side) => side.bounded)),
    points: Math.min(...all.map((side) => side.points)),
    isArray: all.some((side) => side.isArray),
  };
}

/** As `conjunctsOf`, without a copy of the list and without NOT: a long OR has many sides. */
function conjunctsOfSide(side: Expression): readonly Expression[] {
  return side.kind === 'logical' && side.operator === 'and' ? side.operands : [side];
}

/** `evaluated`: the conjuncts that the spans must imply for the match to be exact. */
function matchConjuncts(
  index: BoundIndex,
  conjuncts: readonly Expression[],
  context: SargContext,
  unnests: readonly UnnestBinding[],
  evaluated: readonly Expression[] = conjuncts,
): IndexMatch | undefined {
  const [first] = index.keys;
  const sargs = index.keys.map(({ key, expression }, at) => {
    const sarg = key.array === undefined ? sargOfAll(expression, conjuncts, context) : undefined;
    const hasMissing = at > 0 || key.includesMissing;
    return sarg && !hasMissing && sarg.ranges.some(includesMissing) ? undefined : sarg;
  });
  addArraySargs(index, sargs, conjuncts, context, unnests);
  const isArray = sargs.some((sarg, at) => sarg !== undefined && index.keys[at]?.key.array !== undefined);
  if (first && !sargs[0] && !mayLackSarg(index, first, sargs)) return undefined;
  const columns = sargs.slice(0, sargs.findLastIndex((sarg) => sarg !== undefined) + 1);
  const gap = columns.findIndex((sarg) => !sarg);
  const impliesAll = evaluated.every((conjunct) =>
    sargs.some((sarg, at) => sarg?.isExact && servesExactly(index.keys[at] as BoundKey, conjunct, context)),
  );
  const isExact = impliesAll && columns.every((sarg) => !sarg || sarg.isExact) && !isArray;
  return {
    index,
    spans: crossProduct(columns, isExact),
    isExact,
    depth: gap < 0 ? columns.length : gap,
    bounded: columns.filter((sarg) => sarg !== undefined).length,
    points: columns.filter((sarg) => sarg?.ranges.every(hasOnlyPoints)).length,
    isArray: isArray || index.keys.some((each) => each.key.array !== undefined),
  };
}

/**
 * Whether the index has rows of all documents that the predicates on its other keys select. With INCLUDE MISSING it has rows of documents without the
 * leading key, but none of those whose array of a leading array key has no elements.
 */
function mayLackSarg(index: BoundIndex, leading: BoundKey, sargs: readonly (Sarg | undefined)[]): boolean {
  if (!leading.key.includesMissing) return false;
  if (leading.key.array === undefined) return true;
  return index.keys.some(({ group }, at) => group === leading.group && sargs[at] !== undefined);
}

/** Whether the conjunct is true for all values of the key in its own ranges. */
function servesExactly(key: BoundKey, conjunct: Expression, context: SargContext): boolean {
  return key.key.array === undefined && knownSargOf(key.expression, conjunct, context)?.isExact === true;
}

/** Adds the ranges of array keys. Two predicates may be true for different elements of an array: all keys of FLATTEN_KEYS take their ranges from one of them. */
function addArraySargs(
  index: BoundIndex,
  sargs: (Sarg | undefined)[],
  conjuncts: readonly Expression[],
  context: SargContext,
  unnests: readonly UnnestBinding[],
): void {
  const groups = new Set(index.keys.filter((key) => key.key.array !== undefined).map((key) => key.group));
  for (const group of groups) {
    const keys = index.keys.filter((key) => key.group === group);
    const expressions = keys.map(({ expression }) => expression);
    const candidates = conjuncts.map((conjunct) => arraySargs(expressions, conjunct, context));
    candidates.push(unnestSargs(expressions, conjuncts, context, unnests));
    const best = bestOf(expressions, candidates);
    const start = index.keys.findIndex((key) => key.group === group);
    best.forEach((sarg, at) => {
      sargs[start + at] = sarg;
    });
  }
}

/** The ranges of an array key that the conjuncts on the elements of one UNNEST term allow together. */
function unnestSargs(
  keys: readonly Expression[],
  conjuncts: readonly Expression[],
  context: SargContext,
  unnests: readonly UnnestBinding[],
): ElementSargs {
  const candidates = unnests.flatMap((unnest) => {
    const elements = keys.map((key) => elementKey((key as AllKeys).of, unnest));
    const [first] = elements;
    if (!first || !implies(conjuncts, first.when, context)) return [];
    const values = elements.map((element) => (element as ElementKey).key);
    const others = unnests.filter((each) => each !== unnest);
    return first.key.kind === 'all keys'
      ? [unnestSargs(values, conjuncts, context, others)]
      : [values.map((value) => ofElement(value, conjuncts, context))];
  });
  return bestOf(keys, candidates);
}

interface ElementKey {
  readonly key: Expression;
  readonly when: readonly Expression[];
}

/** The key's expression over the unnested element instead of its variable. */
function elementKey(arrayKey: Expression, unnest: UnnestBinding): ElementKey | undefined {
  const element = sourceSlot(unnest.source);
  if (arrayKey.kind !== 'comprehension' || arrayKey.result !== 'array')
    return sameExpression(arrayKey, unnest.expression) ? { key: element, when: [] } : undefined;
  const [binding] = arrayKey.bindings;
  if (
    arrayKey.bindings.length !== 1 ||
    !binding ||
    binding.isDeep ||
    !sameExpression(binding.of, unnest.expression)
  )
    return undefined;
  const overElement = (node: Expression): Expression => substitute(node, binding.name, element);
  const when = arrayKey.when ? [overElement(arrayKey.when)] : [];
  return { key: overElement(arrayKey.value), when: when.flatMap(conjunctsOfSide) };
}

function substitute(node: Expression, name: string, replacement: Expression): Expression {
  return replace(node, (part) =>
    part.kind === 'identifier' && part.name === name ? replacement : undefined,
  );
}

/** All combinations of the keys' ranges, at most `spansMax`. */
function crossProduct(columns: readonly (Sarg | undefined)[], isExact: boolean): PlanSpan[] {
  let rows: PlanRange[][] = [[]];
  let exact = isExact;
  for (const column of columns) {
    const ranges = column?.ranges ?? [everything];
    if (rows.length * ranges.length > spansMax) {
      exact = false;
      rows = rows.map((row) => [...row, everything]);
    } else rows = rows.flatMap((row) => ranges.map((range) => [...row, range]));
  }
  return rows.map((row) => ({ ranges: trimmed(row), isExact: exact }));
}

/** The ranges without those at the end that allow every value. */
function trimmed(row: readonly PlanRange[]): PlanRange[] {
  const last = row.findLastIndex((range) => !isEverything(range));
  return row.slice(0, last + 1);
}

/** Whether the conjuncts imply the conditions. */
function implies(
  conjuncts: readonly Expression[],
  conditions: readonly Expression[],
  context: SargContext,
): boolean {
  return conditions.every((condition) =>
    conjuncts.some((conjunct) => impliesCondition(conjunct, condition, context)),
  );
}

/** False also where the conjunct implies the condition in a way that this function does not recognize. */
function impliesCondition(conjunct: Expression, condition: Expression, context: SargContext): boolean {
  if (sameExpression(conjunct, condition)) return true;
  if (condition.kind === 'logical') {
    const test = (part: Expression): boolean => impliesCondition(conjunct, part, context);
    return condition.operator === 'or' ? condition.operands.some(test) : condition.operands.every(test);
  }
  if (conjunct.kind === 'logical' && conjunct.operator === 'or')
    return conjunct.operands.every((part) =>
      conjunctsOfSide(part).some((each) => impliesCondition(each, condition, context)),
    );
  const operand = operandOf(condition);
  if (!operand) return false;
  const wanted = sargOf(operand, condition, context);
  const sarg = sargOf(operand, conjunct, context);
  if (!wanted?.isExact || !sarg) return false;
  return sarg.ranges.every((range) => wanted.ranges.some((wide) => isWithin(range, wide, context)));
}

/** The side of a condition that an index of it would have as its key. */
function operandOf(condition: Expression): Expression | undefined {
  switch (condition.kind) {
    case 'comparison':
      return isStatic(condition.right) ? condition.left : condition.right;
    case 'between':
    case 'is':
    case 'like':
    case 'membership':
      return condition.of;
    default:
      return undefined;
  }
}

/** Whether each value of the range is in the wide one, as far as values are known. */
function isWithin(range: PlanRange, wide: PlanRange, context: SargContext): boolean {
  if (wide.kind !== 'range') return sameRange(range, wide) || isInList(range, itemsOf(wide), context);
  const { low, high } = wide;
  const items = itemsOf(range);
  if (items) return areInside(items, low, context, 1) && areInside(items, high, context, -1);
  // Values that are not known, of a list or a pattern: they are above NULL, since comparisons with NULL are never true.
  if (range.kind !== 'range') return !high && (!low || isNull(low.value));
  const lowFits = !low || (range.low !== undefined && isInside(range.low, low, context, 1));
  const highFits = !high || (range.high !== undefined && isInside(range.high, high, context, -1));
  return lowFits && highFits;
}

/** Whether all items, each of which is a point, lie on the inner side of the bound (`direction` 1: a low bound). */
function areInside(
  items: readonly unknown[],
  bound: PlanBound | undefined,
  context: SargContext,
  direction: 1 | -1,
): boolean {
  if (!bound || (isNull(bound.value) && direction === 1)) return true;
  const known = context.constantOf(bound.value);
  if (!known) return false;
  return items.every((item) => {
    // No value is equal to NULL or MISSING.
    if (item === null || item === undefined) return true;
    const order = context.compare(item, known.value) * direction;
    return order > 0 || (order === 0 && bound.isInclusive);
  });
}

/** The points of a long list of literals. Those of a parameter are not used: the plan would depend on its value. */
function itemsOf(range: PlanRange): readonly Value[] | undefined {
  const items = range.kind === 'each' && range.list.kind === 'constant' ? range.list.value : undefined;
  return Array.isArray(items) ? items : undefined;
}

/** Whether each point of the range is in the list. */
function isInList(range: PlanRange, list: readonly Value[] | undefined, context: SargContext): boolean {
  if (!list) return false;
  const items = new Set<unknown>(list);
  const own = itemsOf(range);
  if (own) return own.every((item) => item === null || item === undefined || items.has(item));
  if (range.kind !== 'range' || !range.low?.isInclusive || !range.high?.isInclusive) return false;
  if (!sameExpression(range.low.value, range.high.value)) return false;
  const point = context.constantOf(range.low.value);
  return point !== undefined && items.has(point.value);
}

function sameRange(a: PlanRange, b: PlanRange): boolean {
  if (a.kind === 'like' && b.kind === 'like') return sameExpression(a.pattern, b.pattern) && sameEscape(a, b);
  return a.kind === 'each' && b.kind === 'each' && sameExpression(a.list, b.list);
}

type LikeRange = Extract<PlanRange, { kind: 'like' }>;

const sameEscape = ({ escape: one }: LikeRange, { escape: other }: LikeRange): boolean =>
  one === undefined || other === undefined ? one === other : sameExpression(one, other);

/** Whether the inner bound lies on the inner side of the outer one, or is equal (`direction` 1: low bounds). */
function isInside(inner: PlanBound, outer: PlanBound, context: SargContext, direction: 1 | -1): boolean {
  if (sameExpression(outer.value, inner.value)) return outer.isInclusive || !inner.isInclusive;
  if (isNull(outer.value) && direction === 1) return true;
  const [outerValue, innerValue] = [context.constantOf(outer.value), context.constantOf(inner.value)];
  if (!outerValue || !innerValue) return false;
  const order = context.compare(innerValue.value, outerValue.value) * direction;
  return order > 0 || (order === 0 && (outer.isInclusive || !inner.isInclusive));
}
