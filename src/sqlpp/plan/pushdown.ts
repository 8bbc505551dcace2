// Decides which of ORDER BY, LIMIT and OFFSET an index scan applies.
import type { Expression } from '../tree/expression.ts';
import type { Access } from './access-state.ts';
import { isStatic } from './conjuncts.ts';
import { expressionKey } from './expression-key.ts';
import type { IndexMatch } from './index-match.ts';
import type { LogicalFrom, OrderTerm } from './logical.ts';
import { isPoint, type PlanSpan } from './spans.ts';

export interface PushDown {
  /** The scan reads the index backwards. */
  readonly isReverse: boolean;
  /** The scan returns rows in the order of ORDER BY. */
  readonly isOrdered: boolean;
  /** The scan applies LIMIT and OFFSET. */
  readonly isLimited: boolean;
}

const none: PushDown = { isReverse: false, isOrdered: false, isLimited: false };

export function pushDown(access: Access, match: IndexMatch, conjuncts: readonly Expression[]): PushDown {
  const { select, body } = access;
  if (!select || !body?.from) return none;
  if (body.group || body.windows.length > 0 || body.projection.isDistinct || match.isArray) return none;
  const order = select.order.filter((term) => !isStatic(term.expression));
  const direction = orderOf(order, match);
  const isOrdered = order.length > 0 && direction !== undefined && keepsOrder(body.from);
  const isExact =
    match.isExact &&
    match.spans.every(isEvaluatedExactly) &&
    body.from.kind === 'keyspace' &&
    conjuncts.length > 0;
  const isLimited =
    isExact && (order.length === 0 || isOrdered) && select.limit !== undefined && body.let.length === 0;
  return { isReverse: isOrdered && direction === 'reverse', isOrdered, isLimited };
}

/**
 * Whether the scan of an exact span stays exact when the statement runs: with too many combinations of values in lists whose items are known only then
 * the ranges become wider.
 */
function isEvaluatedExactly({ isExact, ranges }: PlanSpan): boolean {
  return isExact && ranges.filter(({ kind }) => kind === 'each').length <= 1;
}

/** Whether the rows have the order of the first keyspace's scan: UNNEST preserves it, a join may not. */
function keepsOrder(from: LogicalFrom): boolean {
  if (from.kind === 'keyspace') return true;
  if (from.kind === 'unnest') return keepsOrder(from.left);
  return false;
}

/** The direction in which the index has the order of the terms, ignoring keys with a single value; undefined if it has another order. */
function orderOf(order: readonly OrderTerm[], match: IndexMatch): 'forward' | 'reverse' | undefined {
  let direction: 'forward' | 'reverse' | undefined;
  let at = 0;
  for (const term of order) {
    if (typeof term.isDescending !== 'boolean' || typeof term.nulls === 'object') return undefined;
    if (term.nulls !== undefined && term.nulls !== (term.isDescending ? 'last' : 'first')) return undefined;
    while (at < match.index.keys.length && !isKey(match, at, term.expression) && isFixed(match, at)) at++;
    if (!isKey(match, at, term.expression)) return undefined;
    const isReverse = term.isDescending !== (match.index.keys[at]?.key.isDescending ?? false);
    const wanted = isReverse ? 'reverse' : 'forward';
    if (direction && direction !== wanted) return undefined;
    direction = wanted;
    at++;
  }
  return direction;
}

function isKey(match: IndexMatch, at: number, expression: Expression): boolean {
  const key = match.index.keys[at];
  return key !== undefined && expressionKey(key.expression) === expressionKey(expression);
}

/** Whether the only span has a single value of this key. */
function isFixed({ spans }: IndexMatch, at: number): boolean {
  const [span] = spans;
  const range = spans.length === 1 ? span?.ranges[at] : undefined;
  return range !== undefined && isPoint(range);
}
