// ORDER BY, OFFSET and LIMIT over an operator.
import type { Expression } from '../tree/query.ts';
import { isStatic } from './conjuncts.ts';
import type { OrderTerm } from './logical.ts';
import type { Operator } from './operators.ts';

export function orderedPlan(
  input: Operator,
  order: readonly OrderTerm[],
  limit: Expression | undefined,
  offset: Expression | undefined,
): Operator {
  let root = input;
  const terms = order.filter((term) => !isStatic(term.expression));
  if (terms.length > 0) root = { op: 'order', input: root, terms, limit, offset };
  if (offset) root = { op: 'offset', input: root, offset };
  if (limit) root = { op: 'limit', input: root, limit };
  return root;
}
