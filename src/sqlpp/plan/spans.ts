// Ranges of index scans. Their bounds are expressions, which are evaluated when the scan begins, over the left row where the scan is
// the right side of a join, else over the row with which its query block begins.
import type { Expression } from '../tree/expression.ts';
import { sameExpression } from './expression-key.ts';

export type PlanRange =
  | {
      readonly kind: 'range';
      readonly low: PlanBound | undefined;
      readonly high: PlanBound | undefined;
    }
  /** One point for each element of an array. */
  | { readonly kind: 'each'; readonly list: Expression }
  /** Strings with the prefix of a LIKE pattern. */
  | { readonly kind: 'like'; readonly pattern: Expression; readonly escape: Expression | undefined };

export interface PlanBound {
  readonly value: Expression;
  readonly isInclusive: boolean;
}

/** One range for each of the first keys of the index, in their order. */
export interface PlanSpan {
  readonly ranges: readonly PlanRange[];
  /** Every row in the span fulfils its predicates. */
  readonly isExact: boolean;
}

export const everything: PlanRange = { kind: 'range', low: undefined, high: undefined };

/** Whether the range is one value. */
export function isPoint(range: PlanRange): boolean {
  if (range.kind !== 'range' || !range.low || !range.high) return false;
  return range.low.isInclusive && range.high.isInclusive && sameExpression(range.low.value, range.high.value);
}

/** Whether the range has only single values. */
export function hasOnlyPoints(range: PlanRange): boolean {
  return range.kind === 'each' || isPoint(range);
}

export function isNull(value: Expression): boolean {
  return value.kind === 'constant' && value.value === null;
}

export function isEverything(range: PlanRange): boolean {
  return range.kind === 'range' && !range.low && !range.high;
}

/**
 * Whether the range includes MISSING. An index has no entries for MISSING array elements, nor for a MISSING leading key unless the key
 * includes MISSING.
 */
export function includesMissing(range: PlanRange): boolean {
  return range.kind === 'range' && !range.low;
}

/** Values of bounds of index scans that may be arrays or objects when the scan begins. */
export interface NestableBounds {
  readonly values: readonly Expression[];
  /** Arrays, of which each element is a bound. */
  readonly lists: readonly Expression[];
}

/**
 * Bounds whose spans may contain rows that do not fulfil the predicate: an index orders NULL within arrays and objects as a value, but a comparison
 * that meets it there is NULL.
 */
export function nestableBounds(spans: readonly PlanSpan[]): NestableBounds {
  const ranges = spans.flatMap((span) => span.ranges);
  return {
    values: ranges.flatMap(valuesOf).filter((value) => !isScalar(value)),
    lists: ranges.flatMap((range) => (range.kind === 'each' ? [range.list] : [])).filter(hasNested),
  };
}

/** The values of bounds, without the patterns of LIKE, which are strings, or allow no value. */
function valuesOf(range: PlanRange): Expression[] {
  if (range.kind !== 'range') return [];
  return [range.low?.value, range.high?.value].filter((value) => value !== undefined);
}

/** Expressions of these kinds have no arrays and objects as values. */
const scalarKinds: ReadonlySet<string> = new Set(['arithmetic', 'negation', 'concatenation']);

function isScalar(value: Expression): boolean {
  return value.kind === 'constant' ? !isNested(value.value) : scalarKinds.has(value.kind);
}

function hasNested(list: Expression): boolean {
  return list.kind !== 'constant' || (Array.isArray(list.value) && list.value.some(isNested));
}

export const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null;
