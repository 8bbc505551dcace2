// Checks of CREATE INDEX: refuses keys that an index cannot have.
import { sqlError } from '../errors/sql-error.ts';
import { isRepeatable } from '../plan/conjuncts.ts';
import { near } from '../plan/resolving.ts';
import { some } from '../plan/walk.ts';
import { formatExpression } from '../text/format.ts';
import type { CreateIndex } from '../tree/definition.ts';
import type { Expression } from '../tree/expression.ts';

export function checkIndexKeys(text: string, tree: CreateIndex): void {
  tree.keys.forEach(({ expression, includesMissing, isDescending }, at) => {
    const [name, position] = [formatExpression(expression), near(text, expression.at)];
    if (!isIndexable(expression)) throw sqlError(3280, name, position);
    if (includesMissing && at > 0) throw sqlError(3281, name, position);
    const element = elementOf(expression);
    if (containsFlatten(expression, element)) throw sqlError(3283, name, position);
    if (element?.kind === 'flatten keys' && (includesMissing || isDescending))
      throw sqlError(3282, name, position);
  });
  const { where } = tree;
  if (!where) return;
  const [condition, position] = [formatExpression(where), near(text, where.at)];
  if (containsFlatten(where)) throw sqlError(3283, condition, position);
  if (!isIndexable(where)) throw sqlError(3280, condition, position);
}

/** What an array key contains for each element: the only expression that may be FLATTEN_KEYS. */
function elementOf(key: Expression): Expression | undefined {
  if (key.kind !== 'all keys' || key.of.kind !== 'comprehension') return undefined;
  const { value } = key.of;
  return value.kind === 'all keys' ? elementOf(value) : value;
}

/** Whether the expression contains FLATTEN_KEYS, other than `except`. */
function containsFlatten(node: Expression, except?: Expression): boolean {
  return some(node, (part) => part.kind === 'flatten keys' && part !== except);
}

/** Whether the expression reads the document, and has the same value for it in all statements. */
function isIndexable(node: Expression): boolean {
  if (
    !some(
      node,
      (part) =>
        part.kind === 'identifier' || part.kind === 'self' || (part.kind === 'call' && part.name === 'meta'),
    )
  )
    return false;
  return isRepeatable(node);
}
