// The names that expressions get without AS.
import type { Expression } from './expression.ts';

/** The name of a result term, an object member or a FROM term without AS: the last name of a path. */
export function aliasOf(expression: Expression): string | undefined {
  if (expression.kind === 'identifier') return expression.name;
  if (expression.kind !== 'field') return undefined;
  const { name } = expression;
  // `t.[t.lookup]` gets the name of the expression that names the field.
  return name.kind === 'constant' && typeof name.value === 'string' ? name.value : aliasOf(name);
}
