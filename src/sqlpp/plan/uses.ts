// Finds the slots and expressions that a SELECT reads, all of which a covering index must provide, and records at each source whether
// the SELECT reads its metadata.
import type { Expression } from '../tree/expression.ts';
import { slotsOf } from './conjuncts.ts';
import type { JoinOn, LogicalFrom, LogicalSelect, LogicalSubselect } from './logical.ts';

export interface Uses {
  readonly slots: ReadonlySet<number>;
  /** The whole expressions of the clauses. */
  readonly expressions: readonly Expression[];
}

export function usesOf(select: LogicalSelect, body: LogicalSubselect): Uses {
  const expressions: Expression[] = [];
  const add = (expression: Expression | undefined): void => {
    if (expression) expressions.push(expression);
  };
  if (body.from) addFrom(body.from, add);
  for (const binding of body.let) add(binding.expression);
  add(body.where);
  if (body.group) {
    for (const key of body.group.keys) add(key.expression);
    for (const { node } of body.group.aggregates) add(node);
    for (const binding of body.group.letting) add(binding.expression);
    add(body.group.having);
    for (const member of body.group.rows?.members ?? []) add(member.expression);
  }
  for (const { node } of body.windows) add(node);
  for (const term of body.projection.terms) {
    if (term.kind === 'term') add(term.expression);
    else if (term.kind === 'star') add(term.of);
    else for (const member of term.members) add(member.expression);
  }
  for (const term of select.order) add(term.expression);
  add(select.limit);
  add(select.offset);
  return usesOfExpressions(expressions, body);
}

export function usesOfExpressions(
  expressions: readonly Expression[],
  body?: Pick<LogicalSubselect, 'sources'>,
): Uses {
  const slots = new Set<number>();
  for (const expression of expressions) slotsOf(expression, slots);
  for (const source of body?.sources ?? []) {
    if (source.metaSlot !== undefined && slots.has(source.metaSlot)) source.usesMeta = true;
  }
  return { slots, expressions };
}

function addFrom(from: LogicalFrom, add: (expression: Expression | undefined) => void): void {
  switch (from.kind) {
    case 'keyspace':
      add(from.keys);
      return;
    case 'expression':
      add(from.expression);
      return;
    case 'subquery':
      for (const capture of from.select.block.captures) add(capture.outer);
      return;
    case 'unnest':
      addFrom(from.left, add);
      add(from.expression);
      return;
    default:
      addFrom(from.left, add);
      addFrom(from.right, add);
      addOn(from.on, add);
      return;
  }
}

function addOn(on: JoinOn, add: (expression: Expression | undefined) => void): void {
  if (on.kind === 'on') add(on.condition);
  else if (on.kind === 'keys') add(on.keys);
  else add(on.key);
}
