// Splits predicates into conjuncts and disjuncts, finds the slots that they read, and says how their values can vary.
import { functionNamed } from '../functions/catalog.ts';
import type { Expression } from '../tree/expression.ts';
import { childrenOf, visit } from './walk.ts';

export function conjunctsOf(condition: Expression | undefined): Expression[] {
  if (!condition) return [];
  if (condition.kind === 'logical' && condition.operator === 'and')
    return condition.operands.flatMap((operand) => conjunctsOf(operand));
  if (condition.kind === 'not' && condition.of.kind === 'logical' && condition.of.operator === 'or')
    return condition.of.operands.flatMap((operand) => conjunctsOf(negated(operand)));
  return [condition];
}

function negated(condition: Expression): Expression {
  return condition.kind === 'not' ? condition.of : { kind: 'not', of: condition, at: condition.at };
}

export function disjunctsOf(condition: Expression): readonly Expression[] {
  if (condition.kind === 'logical' && condition.operator === 'or')
    return condition.operands.flatMap((operand) => disjunctsOf(operand));
  return [condition];
}

export function allOf(conjuncts: readonly Expression[]): Expression | undefined {
  if (conjuncts.length <= 1) return conjuncts[0];
  return { kind: 'logical', operator: 'and', operands: conjuncts, at: (conjuncts[0] as Expression).at };
}

export function slotsOf(node: Expression, into: Set<number> = new Set()): Set<number> {
  visit(node, (part) => {
    if (part.kind === 'slot') into.add(part.slot);
  });
  return into;
}

export function readsOnly(node: Expression, slots: ReadonlySet<number>): boolean {
  if (node.kind === 'slot') return slots.has(node.slot);
  return childrenOf(node).every((child) => readsOnly(child, slots));
}

export function readsAny(node: Expression, slots: ReadonlySet<number>): boolean {
  if (node.kind === 'slot') return slots.has(node.slot);
  return childrenOf(node).some((child) => readsAny(child, slots));
}

/** Whether the expression can have another value each time, or is expensive, so that the planner must not duplicate it. */
export function isVolatile(node: Expression): boolean {
  if (node.kind === 'subquery' || node.kind === 'user call') return true;
  if (node.kind === 'call' && functionNamed(node.name)?.varies === 'between calls') return true;
  return childrenOf(node).some(isVolatile);
}

/** Whether the expression has the same value for a document in all statements: only then can it be an index key. */
export function isRepeatable(node: Expression): boolean {
  switch (node.kind) {
    case 'subquery':
    case 'aggregate':
    case 'named parameter':
    case 'positional parameter':
    case 'user call':
      return false;
    case 'call':
      if ((functionNamed(node.name)?.varies ?? 'never') !== 'never') return false;
  }
  return childrenOf(node).every(isRepeatable);
}

/** Whether the expression reads no row: constants, parameters and combinations of them. */
export function isStatic(node: Expression): boolean {
  if (node.kind === 'slot' || node.kind === 'identifier' || node.kind === 'self') return false;
  return !isVolatile(node) && childrenOf(node).every(isStatic);
}
