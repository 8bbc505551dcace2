// Names in an expression that nothing in it binds.
import type { Expression } from '../tree/expression.ts';
import { childrenOf, variablesOf } from './walk.ts';

/** The first name that is neither bound by a range around it nor in `bound`, or `self` for SELF; subqueries are not searched. */
export function freeName(node: Expression, bound: ReadonlySet<string> = new Set()): string | undefined {
  if (node.kind === 'identifier') return bound.has(node.name) ? undefined : node.name;
  if (node.kind === 'self') return 'self';
  let inner = bound;
  if (node.kind === 'quantified' || node.kind === 'comprehension')
    inner = new Set([...bound, ...node.bindings.flatMap(variablesOf)]);
  for (const child of childrenOf(node)) {
    const name = freeName(child, inner);
    if (name !== undefined) return name;
  }
  return undefined;
}
