// Whether an index brings all that a query reads of a source, so that no document is read.
import type { Expression } from '../tree/query.ts';
import type { Access } from './access-state.ts';
import type { Source } from './block.ts';
import { expressionKey } from './expression-key.ts';
import type { BoundIndex } from './index-keys.ts';
import { childrenOf } from './walk.ts';

export interface Cover {
  /** The expression's key, and the slot that holds its value. */
  readonly key: string;
  readonly expression: Expression;
  readonly slot: number;
  /** Of the index key. */
  readonly position: number;
}

export function coverage(
  access: Access,
  source: Source,
  index: BoundIndex,
  conjuncts: readonly Expression[],
): Cover[] | undefined {
  const own = new Set([source.slot, source.metaSlot]);
  const keys = new Map<string, { expression: Expression; position: number }>();
  index.keys.forEach(({ key, expression }, position) => {
    if (key.array === undefined) keys.set(expressionKey(expression), { expression, position });
  });
  const used = new Map<string, { expression: Expression; position: number }>();
  const visit = (node: Expression): boolean => {
    const key = expressionKey(node);
    const known = keys.get(key);
    if (known) {
      used.set(key, known);
      return true;
    }
    if (node.kind === 'slot') return !own.has(node.slot);
    return childrenOf(node).every(visit);
  };
  if (![...access.uses.expressions, ...conjuncts].every(visit)) return undefined;
  return [...used].map(([key, { expression, position }]) => ({
    key,
    expression,
    position,
    slot: access.covered.get(key) ?? access.block.allocate(),
  }));
}
