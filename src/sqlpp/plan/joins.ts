// Plans joins and nests: the algorithm, and the access path of the right side.

import type { Expression } from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';
import { accessTo } from './access.ts';
import type { Access } from './access-state.ts';
import type { Source } from './block.ts';
import { conjunctsOf, readsAny, readsOnly } from './conjuncts.ts';
import type { JoinFrom, JoinSide, LogicalFrom, LogicalSelect, NestFrom } from './logical.ts';
import type { Operator, QueryPlan } from './operators.ts';
import type { PlanningContext } from './planning.ts';
import { slotOf } from './scope.ts';
import type { PlanRange } from './spans.ts';

// Functions of build.ts, which imports this file: they are arguments, since files must not import each other.
type PlanFrom = (
  access: Access,
  from: LogicalFrom,
  pending: Expression[],
  available: Set<number>,
) => Operator;
type PlanSelect = (planning: PlanningContext, select: LogicalSelect) => QueryPlan;

export function joinPlan(
  access: Access,
  from: JoinFrom | NestFrom,
  pending: Expression[],
  available: Set<number>,
  planFrom: PlanFrom,
  planSelect: PlanSelect,
): Operator {
  if (from.kind === 'join' && from.join === 'right')
    return rightJoin(access, from, available, planFrom, planSelect);
  const input = planFrom(access, from.left, pending, available);
  const condition = conditionOf(from);
  const isOuter = from.join === 'left';
  if (isOuter) access.optional.add(from.right.source);
  // Predicates of WHERE select the rows of the join, and only in an inner join also those of its right side.
  const wherePredicates = isOuter || from.kind === 'nest' ? [] : pending;
  const conjuncts = [...conjunctsOf(condition), ...wherePredicates];
  const right = sidePlan(access, sideOf(from), conjuncts, available, planSelect);
  const nestSlot = from.kind === 'nest' ? from.right.source.slot : undefined;
  const slots = slotsOfSource(from.right.source);
  const join = { input, condition, isOuter, nestSlot, slots, source: from.right.source };
  const isConstant = !right.readsLeft;
  const keys =
    isConstant && from.right.use.join !== 'nl' ? equalities(condition, new Set(slots), available) : undefined;
  for (const slot of slots) available.add(slot);
  if (keys && keys.leftKeys.length > 0) return { op: 'hash join', ...join, ...keys, right: right.plan };
  return { op: 'join', ...join, right: right.plan, isLookup: right.isLookup, isConstant };
}

/** The right side; with ON KEYS it reads the documents whose keys the left row has. */
function sideOf({ right, on }: JoinFrom | NestFrom): JoinSide {
  return right.kind === 'keyspace' && on.kind === 'keys' ? { ...right, keys: on.keys } : right;
}

/** The condition that joined rows fulfil; undefined: every row that the right side returns for a left row matches. */
function conditionOf(from: JoinFrom | NestFrom): Expression | undefined {
  const { on } = from;
  if (on.kind === 'on') return on.condition;
  if (on.kind === 'keys') return undefined;
  const outerKey = slotOf(on.outer.idSlot as number, identifierOf(on.outer.alias));
  return { kind: 'comparison', operator: '=', left: on.key, right: outerKey, at: on.key.at };
}

/** RIGHT OUTER JOIN: a left outer join whose `input` is the right side of the statement, and whose `right` is the left side. */
function rightJoin(
  access: Access,
  from: JoinFrom,
  available: Set<number>,
  planFrom: PlanFrom,
  planSelect: PlanSelect,
): Operator {
  const before = new Set(available);
  const input = sidePlan(access, from.right, [], available, planSelect).plan;
  const leftSlots = new Set(before);
  for (const source of sourcesOf(from.left)) access.optional.add(source);
  const right = planFrom(access, from.left, [], leftSlots);
  const condition = conditionOf(from);
  const slots = [...leftSlots].filter((slot) => !before.has(slot));
  const rightSlots = new Set([...before, ...slotsOfSource(from.right.source)]);
  const keys = equalities(condition, new Set(slots), rightSlots);
  for (const slot of [...slots, ...rightSlots]) available.add(slot);
  const join = { input, condition, isOuter: true, nestSlot: undefined, slots, source: from.right.source };
  if (keys.leftKeys.length > 0) return { op: 'hash join', ...join, ...keys, right };
  return { op: 'join', ...join, right, isLookup: false, isConstant: true };
}

/** The sources of a FROM clause. */
function sourcesOf(from: LogicalFrom): Source[] {
  if ('right' in from) return [...sourcesOf(from.left), from.right.source];
  return from.kind === 'unnest' ? [...sourcesOf(from.left), from.source] : [from.source];
}

function slotsOfSource(source: Source): number[] {
  return [source.slot, source.idSlot, source.metaSlot, source.positionSlot].filter(
    (slot) => slot !== undefined,
  );
}

/** Equality conditions between an expression of the right side and one of the left, for a hash join; the sides by their slots. */
function equalities(
  condition: Expression | undefined,
  right: ReadonlySet<number>,
  left: ReadonlySet<number>,
): { leftKeys: Expression[]; rightKeys: Expression[] } {
  const leftKeys: Expression[] = [];
  const rightKeys: Expression[] = [];
  for (const conjunct of conjunctsOf(condition)) {
    if (conjunct.kind !== 'comparison' || conjunct.operator !== '=') continue;
    for (const [a, b] of [
      [conjunct.left, conjunct.right],
      [conjunct.right, conjunct.left],
    ] as const) {
      if (!readsAny(a, right) || !readsOnly(a, right) || !readsOnly(b, left) || !readsAny(b, left)) continue;
      rightKeys.push(a);
      leftKeys.push(b);
      break;
    }
  }
  return { leftKeys, rightKeys };
}

interface SidePlan {
  readonly plan: Operator;
  /** The rows depend on the left row. */
  readonly readsLeft: boolean;
  /** The plan reads documents by key. */
  readonly isLookup: boolean;
}

/** The plan of the right side, of which `conjuncts` select rows. */
function sidePlan(
  access: Access,
  side: JoinSide,
  conjuncts: readonly Expression[],
  available: Set<number>,
  planSelect: PlanSelect,
): SidePlan {
  const left = new Set([...available].filter((slot) => !access.seeds.has(slot)));
  if (side.kind === 'expression') {
    const readsLeft = readsAny(side.expression, left);
    return {
      plan: { op: 'expression scan', source: side.source, expression: side.expression },
      readsLeft,
      isLookup: false,
    };
  }
  if (side.kind === 'subquery') {
    const readsLeft = side.select.block.captures.some((capture) => readsAny(capture.outer, left));
    return { plan: subqueryPlan(access, side, planSelect), readsLeft, isLookup: false };
  }
  const plan = accessTo(access, side, [...conjuncts], available, 'inner');
  return { plan, readsLeft: operatorReads(plan, left), isLookup: isKeyScan(plan) };
}

export function subqueryPlan(
  access: Access,
  from: Extract<LogicalFrom, { kind: 'subquery' }>,
  planSelect: PlanSelect,
): Operator {
  const { source } = from;
  const { slots } = access.uses;
  const readsMeta =
    source.usesMeta || [source.idSlot, source.metaSlot].some((slot) => slot !== undefined && slots.has(slot));
  // The actions of MERGE are no expressions of a SELECT, so `uses` does not know whether they read META().
  const origin = readsMeta || !access.body ? from.origin : undefined;
  if (origin) origin.usesMeta = true;
  return { op: 'subquery scan', source, plan: planSelect(access.planning, from.select), origin };
}

function isKeyScan(plan: Operator): boolean {
  return plan.op === 'key scan' || (plan.op === 'fetch' && plan.input.op === 'key scan');
}

/** Whether a scan's keys or bounds read one of the slots. */
function operatorReads(plan: Operator, slots: ReadonlySet<number>): boolean {
  switch (plan.op) {
    case 'fetch':
    case 'filter':
      return operatorReads(plan.input, slots);
    case 'key scan':
      return readsAny(plan.keys, slots);
    case 'catalog scan':
      return plan.keys !== undefined && readsAny(plan.keys, slots);
    case 'index scan':
      return plan.spans.some((span) => span.ranges.some((range) => rangeReads(range, slots)));
    case 'union scan':
      return plan.scans.some((scan) => operatorReads(scan, slots));
    default:
      return false;
  }
}

function rangeReads(range: PlanRange, slots: ReadonlySet<number>): boolean {
  if (range.kind === 'each') return readsAny(range.list, slots);
  const parts = range.kind === 'like' ? [range.pattern, range.escape] : [range.low?.value, range.high?.value];
  return parts.some((part) => part !== undefined && readsAny(part, slots));
}
