// The name that an expression has by itself.
import type { Expression } from './query.ts';

/** What a result term, an object's member or a FROM term is called without AS: the last name of a path. */
export function aliasOf(expression: Expression): string | undefined {
  switch (expression.kind) {
    case 'identifier':
      return expression.name === '' ? undefined : expression.name;
    case 'field':
      return expression.name.kind === 'constant' && typeof expression.name.value === 'string'
        ? expression.name.value
        : aliasOf(expression.name);
    case 'all keys':
      return aliasOf(expression.of);
    case 'slot':
      return aliasOf(expression.original);
    default:
      return undefined;
  }
}
