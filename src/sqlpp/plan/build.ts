// Plans resolved queries as operators: FROM terms from left to right, each predicate as early as its names allow.
import { resultOf, type WorkSteps } from '#base/steps.ts';
import type { Expression } from '../tree/expression.ts';
import { accessTo } from './access.ts';
import type { Access } from './access-state.ts';
import type { Source } from './block.ts';
import { allOf, conjunctsOf, isStatic, isVolatile, readsAny, readsOnly } from './conjuncts.ts';
import { joinPlan, subqueryPlan } from './joins.ts';
import { LetInliner } from './let-inliner.ts';
import type {
  LogicalFrom,
  LogicalSelect,
  LogicalSetOperation,
  LogicalSubselect,
  LogicalWith,
  OrderTerm,
} from './logical.ts';
import type { Operator, QueryPlan, WithPlan } from './operators.ts';
import type { PlanningContext } from './planning.ts';
import { nestableBounds } from './spans.ts';
import { usesOf } from './uses.ts';

export const planSelect = (planning: PlanningContext, select: LogicalSelect): QueryPlan =>
  resultOf(planSteps(planning, select));

/** Plans a query, with pauses between the phases of its outermost level. */
export function* planSteps(planning: PlanningContext, select: LogicalSelect): WorkSteps<QueryPlan> {
  const { block, body } = select;
  const seeds = seedSlots(select);
  const plan =
    body.kind === 'subselect'
      ? yield* planSubselect(planning, select, body, seeds)
      : planSetOperation(planning, select, body);
  return { block, ...plan };
}

/** Slots that are set before the first operator of FROM runs: captured values and WITH. */
function seedSlots(select: LogicalSelect): Set<number> {
  return new Set([
    ...select.block.captures.map((capture) => capture.slot),
    ...select.with.map((term) => term.slot),
  ]);
}

function withPlans(planning: PlanningContext, terms: readonly LogicalWith[]): WithPlan[] {
  return terms.map(({ alias, slot, expression, recursive }) => ({
    alias,
    slot,
    expression,
    recursive: recursive && {
      isAll: recursive.isAll,
      step: planSelect(planning, recursive.step),
    },
  }));
}

function planSetOperation(
  planning: PlanningContext,
  select: LogicalSelect,
  body: LogicalSetOperation,
): Omit<QueryPlan, 'block'> {
  const { operator, isAll, resultSlot, fields } = body;
  const left = planSelect(planning, body.left);
  const right = body.right && planSelect(planning, body.right);
  let root: Operator = { op: 'set operation', operator, isAll, left, right, resultSlot, fields };
  root = orderedPlan(root, select.order, select.limit, select.offset);
  const terms = withPlans(planning, select.with);
  return {
    root: terms.length > 0 ? { op: 'with', input: root, terms } : root,
    resultSlot,
    covered: new Map(),
  };
}

function* planSubselect(
  planning: PlanningContext,
  select: LogicalSelect,
  body: LogicalSubselect,
  seeds: ReadonlySet<number>,
): WorkSteps<Omit<QueryPlan, 'block'>> {
  const { projection } = body;
  const access: Access = {
    planning,
    block: select.block,
    uses: usesOf(select, body),
    seeds,
    select,
    body,
    hints: body.hints,
    isOrdered: false,
    isLimited: false,
    nestableBounds: nestableBounds([]),
    covered: new Map(),
    optional: new Set(),
  };
  yield;
  // A LET variable with a volatile expression stays: it has one value for a row.
  const inliner = new LetInliner(body.let, (expression) => !isVolatile(expression));
  const pending = conjunctsOf(body.where).map((conjunct) => inliner.inlined(conjunct));
  let root = body.from ? planFrom(access, body.from, pending, new Set(seeds)) : ({ op: 'start' } as Operator);
  yield;
  const letSlots = new Set(body.let.map((binding) => binding.slot));
  const [beforeLet, afterLet]: [Expression[], Expression[]] = [[], []];
  for (const conjunct of pending) (readsAny(conjunct, letSlots) ? afterLet : beforeLet).push(conjunct);
  root = filtered(root, beforeLet);
  if (body.let.length > 0) root = { op: 'let', input: root, bindings: body.let };
  root = filtered(root, afterLet);
  if (body.group) root = { op: 'group', input: root, group: body.group };
  if (body.windows.length > 0) root = { op: 'window', input: root, columns: body.windows };
  root = finishSelect(access, select, body, root);
  const terms = withPlans(planning, select.with);
  if (terms.length > 0) root = { op: 'with', input: root, terms };
  return { root, resultSlot: projection.resultSlot, covered: access.covered };
}

/** Adds the projection, DISTINCT, ORDER BY, OFFSET and LIMIT, except what the scan applies. */
function finishSelect(
  access: Access,
  select: LogicalSelect,
  body: LogicalSubselect,
  root: Operator,
): Operator {
  const { projection } = body;
  const order = access.isOrdered ? [] : select.order;
  const { limit, offset } = select;
  if (!projection.isDistinct) {
    const sorted = access.isLimited
      ? limitedUnlessPushed(access, root, select)
      : orderedPlan(root, order, limit, offset);
    return { op: 'project', input: sorted, projection };
  }
  const projected: Operator = { op: 'project', input: root, projection };
  const distinct: Operator = { op: 'distinct', input: projected, slot: projection.resultSlot };
  return orderedPlan(distinct, order, limit, offset);
}

/** Filters by the predicates whose slots are set, and removes them from `pending`. Volatile ones wait, so that they are evaluated for the fewest rows. */
export function filterEarly(root: Operator, pending: Expression[], available: ReadonlySet<number>): Operator {
  const [now, later]: [Expression[], Expression[]] = [[], []];
  for (const conjunct of pending)
    (readsOnly(conjunct, available) && !isVolatile(conjunct) ? now : later).push(conjunct);
  pending.length = 0;
  for (const conjunct of later) pending.push(conjunct);
  return filtered(root, now);
}

export function filtered(root: Operator, conjuncts: readonly Expression[]): Operator {
  const condition = allOf(conjuncts);
  return condition ? { op: 'filter', input: root, condition } : root;
}

/** Adds the slots of a source to those that are set. */
export function bindSlots(source: Source, available: Set<number>): void {
  for (const slot of [source.slot, source.idSlot, source.metaSlot, source.positionSlot]) {
    if (slot !== undefined) available.add(slot);
  }
}

/** Plans a FROM term. Predicates that it applies are removed from `pending`, and its slots added to `available`. */
export function planFrom(
  access: Access,
  from: LogicalFrom,
  pending: Expression[],
  available: Set<number>,
): Operator {
  const plan = termPlan(access, from, pending, available);
  return filterEarly(plan, pending, available);
}

function termPlan(
  access: Access,
  from: LogicalFrom,
  pending: Expression[],
  available: Set<number>,
): Operator {
  switch (from.kind) {
    case 'keyspace': {
      const plan = accessTo(access, from, pending, available, 'first');
      bindSlots(from.source, available);
      return plan;
    }
    case 'expression':
      bindSlots(from.source, available);
      return { op: 'expression scan', source: from.source, expression: from.expression };
    case 'subquery':
      bindSlots(from.source, available);
      return subqueryPlan(access, from, planSelect);
    case 'unnest': {
      const input = planFrom(access, from.left, pending, available);
      bindSlots(from.source, available);
      return {
        op: 'unnest',
        input,
        isOuter: from.join === 'left',
        expression: from.expression,
        source: from.source,
      };
    }
    default:
      return joinPlan(access, from, pending, available, planFrom, planSelect);
  }
}

/**
 * OFFSET and LIMIT for a scan that applies them itself, unless one of its bounds is an array or an object when the statement runs: then
 * these operators apply them.
 */
function limitedUnlessPushed(
  { nestableBounds: unlessNested }: Access,
  input: Operator,
  { limit, offset }: LogicalSelect,
): Operator {
  if (unlessNested.values.length + unlessNested.lists.length === 0) return input;
  let root = input;
  if (offset) root = { op: 'offset', input: root, offset, unlessNested };
  if (limit) root = { op: 'limit', input: root, limit, unlessNested };
  return root;
}

/** ORDER BY, OFFSET and LIMIT over an operator. */
function orderedPlan(
  input: Operator,
  order: readonly OrderTerm[],
  limit: Expression | undefined,
  offset: Expression | undefined,
): Operator {
  let root = input;
  const terms = order.filter((term) => !isStatic(term.expression));
  if (terms.length > 0) root = { op: 'order', input: root, terms, limit, offset };
  if (offset) root = { op: 'offset', input: root, offset };
  if (limit) root = { op: 'limit', input: root, limit };
  return root;
}
