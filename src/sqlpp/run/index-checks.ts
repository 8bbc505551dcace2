// Checks of CREATE INDEX: refuses keys that an index cannot have.
import { sqlError } from '../errors/sql-error.ts';
import { functionNamed } from '../functions/catalogue.ts';
import { near } from '../plan/resolving.ts';
import { some } from '../plan/walk.ts';
import { formatExpression } from '../text/format.ts';
import type { CreateIndex } from '../tree/definition.ts';
import type { Expression } from '../tree/query.ts';

export function checkIndexKeys(text: string, tree: CreateIndex): void {
  tree.keys.forEach(({ expression, includesMissing, isDescending }, at) => {
    const [name, position] = [formatExpression(expression), near(text, expression.at)];
    if (!isIndexable(expression)) throw sqlError(3280, name, position);
    if (includesMissing && at > 0) throw sqlError(3281, name, position);
    const { kind } = expression;
    if (kind === 'all keys' && flattens(expression) && (includesMissing || isDescending))
      throw sqlError(3282, name, position);
    if (kind !== 'all keys' && some(expression, (node) => node.kind === 'flatten keys'))
      throw sqlError(3283, name, position);
  });
  const { where } = tree;
  if (where && !isIndexable(where)) throw sqlError(3280, formatExpression(where), near(text, where.at));
}

function flattens(node: Expression): boolean {
  return some(node, (part) => part.kind === 'flatten keys');
}

function isDeterministic(name: string): boolean {
  return (functionNamed(name)?.varies ?? 'never') === 'never';
}

/** Whether the expression depends only on the document and is deterministic. */
function isIndexable(node: Expression): boolean {
  if (
    !some(
      node,
      (part) =>
        part.kind === 'identifier' || part.kind === 'self' || (part.kind === 'call' && part.name === 'meta'),
    )
  )
    return false;
  return !some(
    node,
    (part) =>
      part.kind === 'subquery' ||
      part.kind === 'aggregate' ||
      part.kind === 'named parameter' ||
      part.kind === 'positional parameter' ||
      part.kind === 'user call' ||
      (part.kind === 'call' && !isDeterministic(part.name)),
  );
}
