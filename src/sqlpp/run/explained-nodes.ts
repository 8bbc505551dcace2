// Parts of EXPLAIN's output: nodes, their members and spans of index scans.
import type { PlanBound, PlanRange, PlanSpan } from '../plan/spans.ts';
import { formatExpression } from '../text/format.ts';
import { newObject, setMember, type Value } from '../values/value.ts';

export function node(operator: string, rest: Readonly<Record<string, Value>> = {}): Value {
  return members({ '#operator': operator, ...rest });
}

export function members(values: Readonly<Record<string, Value>>): Value {
  const object = newObject();
  for (const [name, value] of Object.entries(values)) setMember(object, name, value);
  return object;
}

export function spanNode(span: PlanSpan, keys: readonly string[]): Value {
  return members({
    exact: span.isExact || undefined,
    range: span.ranges.map((range, at) => rangeNode(range, keys[at])),
  });
}

/** `inclusion` has two bits: 1 if the low bound is included, 2 if the high one is. */
function rangeNode(range: PlanRange, key: string | undefined): Value {
  const shared = { index_key: key };
  if (range.kind === 'each')
    return members({
      ...shared,
      low: `array_min(${formatExpression(range.list)})`,
      high: `array_max(${formatExpression(range.list)})`,
      inclusion: 3,
    });
  if (range.kind === 'like')
    return members({
      ...shared,
      low: `like_prefix(${formatExpression(range.pattern)})`,
      high: `like_stop(${formatExpression(range.pattern)})`,
      inclusion: 1,
    });
  const inclusion = (range.low?.isInclusive ? 1 : 0) + (range.high?.isInclusive ? 2 : 0);
  return members({ ...shared, low: boundText(range.low), high: boundText(range.high), inclusion });
}

function boundText(bound: PlanBound | undefined): Value {
  return bound && formatExpression(bound.value);
}

/** The planner's estimates, which are there only with statistics. */
export function estimates(cardinality: number, cost: number): Record<string, Value> {
  const rounded = (value: number): number => Math.round(value * 100) / 100;
  return { optimizer_estimates: members({ cardinality: rounded(cardinality), cost: rounded(cost) }) };
}
