// Names that results get without AS.
import type { Expression } from '../tree/query.ts';

/** The last name of a path; undefined for any other expression. */
export function naturalAlias(node: Expression): string | undefined {
  if (node.kind === 'identifier') return node.name;
  if (node.kind !== 'field') return undefined;
  const { name } = node;
  // `t.[t.lookup]` is called as the expression that names the field.
  return name.kind === 'constant' && typeof name.value === 'string' ? name.value : naturalAlias(name);
}
