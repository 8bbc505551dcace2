// Bounds of index scans as expressions, which are evaluated with the first row when the scan begins.
import type { Expression } from '../tree/query.ts';
import { sameExpression } from './expression-key.ts';

export type PlanRange =
  | {
      readonly kind: 'range';
      readonly low: PlanBound | undefined;
      readonly high: PlanBound | undefined;
    }
  /** One point for each item of an array. */
  | { readonly kind: 'each'; readonly list: Expression }
  /** Strings with the prefix of a LIKE pattern. */
  | { readonly kind: 'like'; readonly pattern: Expression; readonly escape: Expression | undefined };

export interface PlanBound {
  readonly value: Expression;
  readonly inclusive: boolean;
}

/** Ranges by key position, from the first key on. */
export interface PlanSpan {
  readonly ranges: readonly PlanRange[];
  /** Every row in the span fulfils its predicates. */
  readonly isExact: boolean;
}

export const everything: PlanRange = { kind: 'range', low: undefined, high: undefined };

/** Whether the range is one value. */
export function isPoint(range: PlanRange): boolean {
  if (range.kind !== 'range' || !range.low || !range.high) return false;
  return range.low.inclusive && range.high.inclusive && sameExpression(range.low.value, range.high.value);
}

export function isNull(value: Expression): boolean {
  return value.kind === 'constant' && value.value === null;
}

export function isEverything(range: PlanRange): boolean {
  return range.kind === 'range' && !range.low && !range.high;
}
