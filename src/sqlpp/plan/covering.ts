// Checks whether an index covers a query: it provides all expressions of a source, so that no document is read.
import type { Expression } from '../tree/expression.ts';
import type { Value } from '../values/value.ts';
import type { Access } from './access-state.ts';
import type { Source } from './block.ts';
import { expressionKey, sameExpression } from './expression-key.ts';
import type { BoundIndex } from './index-keys.ts';
import { passesNull } from './null-passing.ts';
import { childrenOf } from './walk.ts';

/** An expression whose value the index provides. */
export interface Cover {
  /** The `expressionKey`. */
  readonly key: string;
  readonly expression: Expression;
  /** The slot that gets the value of the expression. */
  readonly slot: number;
  /** The position of the index key; below 0: a constant by the condition of the index. */
  readonly position: number;
  /** The constant; `undefined` is MISSING. */
  readonly constant?: Value;
}

/** The covers that the query uses; undefined if the index does not cover it. */
export function coverage(
  access: Access,
  source: Source,
  index: BoundIndex,
  conjuncts: readonly Expression[],
): Cover[] | undefined {
  const sourceSlots = new Set([source.slot, source.metaSlot]);
  const provided = new Map<string, Omit<Cover, 'key' | 'slot'>>(constantsOf(index));
  index.keys.forEach(({ key, expression }, position) => {
    if (key.array === undefined) provided.set(expressionKey(expression), { expression, position });
  });
  const isOptional = access.optional.has(source);
  // Where an outer join adds a row without a document, no cover has a value: expressions such as TYPE(field) must be evaluated then.
  const covers = [...provided].filter(
    ([, { expression }]) => !isOptional || passesNull(expression, (part) => isSlotOf(sourceSlots, part)),
  );
  const used = new Map<string, Omit<Cover, 'key' | 'slot'>>();
  const visit = (node: Expression): boolean => {
    // Comparing with the few expressions of an index takes less time than writing the key of each node.
    const found = covers.find(([, { expression }]) => sameExpression(expression, node));
    if (found) {
      used.set(...found);
      return true;
    }
    if (node.kind === 'slot') return !isSlotOf(sourceSlots, node);
    return childrenOf(node).every(visit);
  };
  if (![...access.uses.expressions, ...conjuncts].every(visit)) return undefined;
  return [...used].map(([key, cover]) => ({
    key,
    ...cover,
    slot: access.covered.get(key) ?? access.block.allocate(),
  }));
}

const isSlotOf = (slots: ReadonlySet<number | undefined>, node: Expression): boolean =>
  node.kind === 'slot' && slots.has(node.slot);

/** Expressions that the condition of a partial index fixes to one value: `type = "order"`. */
function constantsOf({ condition }: BoundIndex): [string, Omit<Cover, 'key' | 'slot'>][] {
  return condition.flatMap((each) => {
    const equality = constantOf(each);
    if (!equality) return [];
    const { expression, constant } = equality;
    return [[expressionKey(expression), { expression, constant, position: -1 }]];
  });
}

function constantOf(condition: Expression): { expression: Expression; constant: Value } | undefined {
  if (condition.kind === 'is' && condition.test === 'missing' && !condition.isNegated)
    return { expression: condition.of, constant: undefined };
  if (condition.kind !== 'comparison' || condition.operator !== '=') return undefined;
  const { left, right } = condition;
  const [constant, expression] = left.kind === 'constant' ? [left, right] : [right, left];
  // Equal numbers can have several notations, 1 and 1.0.
  const isPlain =
    constant.kind === 'constant' &&
    (typeof constant.value === 'string' || typeof constant.value === 'boolean');
  return isPlain ? { expression, constant: constant.value } : undefined;
}
