// Nodes that planning adds to a tree.
import type { Identifier } from './expression.ts';

/** The `at` of a node that the statement does not contain. */
export const notInText = -1;

export function identifierOf(name: string, at = notInText): Identifier {
  return { kind: 'identifier', name, ignoresCase: false, at };
}
