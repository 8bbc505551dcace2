// Pushdowns to a recommended index: grouping, order and limits that it could provide in addition to finding rows, and the order of keys
// that this requires.
import type { Source } from '../plan/block.ts';
import { isRepeatable, readsAny } from '../plan/conjuncts.ts';
import type { LogicalSelect, LogicalSubselect } from '../plan/logical.ts';
import type { Expression } from '../tree/expression.ts';
import { keyText, namePart, ofDocument } from './advice-text.ts';
import { type KeySet, type KeyUse, ranks } from './key-use.ts';
import { sourceSlots } from './predicates.ts';

export interface Pushdown {
  readonly keys: readonly KeyUse[];
  /** Undefined: the index only finds rows. */
  readonly property: string | undefined;
  /** The query groups: only a covering index can do that. */
  readonly needsCovering: boolean;
  /** Keys for the arguments of aggregates, which follow the others in an index that covers the query. */
  readonly last: readonly KeyUse[];
}

interface PushdownRequest {
  readonly select: LogicalSelect;
  readonly body: LogicalSubselect;
  readonly source: Source;
  readonly set: KeySet;
  /** Every condition is on a key. */
  readonly isComplete: boolean;
  /** A condition reads META().id, the last component of every index row. Then the index can provide an order by META().id, as published servers advise. */
  readonly hasIdCondition: boolean;
}

/** What the index could do for the query, and its keys for that. */
export function pushdownOf(request: PushdownRequest): Pushdown {
  const { select, body, source, set, isComplete } = request;
  const none: Pushdown = { keys: set.keys, property: undefined, needsCovering: false, last: [] };
  if (body.windows.length > 0 || body.projection.isDistinct) return none;
  const groups = body.group ? groupKeys(request) : [];
  if (!groups) return none;
  const order = orderKeys(request, groups);
  const isOrdered = order !== undefined && order.length > 0;
  const isExact = isComplete && set.keys.every(({ rank }) => rank <= ranks.less);
  const isLimited = select.limit !== undefined && isExact && (isOrdered || select.order.length === 0);
  const properties = [
    ...(body.group ? ['FULL GROUPBY & AGGREGATES pushdown'] : []),
    ...(isOrdered ? ['ORDER pushdown'] : []),
    ...(isLimited && select.offset ? ['OFFSET pushdown'] : []),
    ...(isLimited ? ['LIMIT pushdown'] : []),
  ];
  if (properties.length === 0) return none;
  const leading = isOrdered ? order : groups;
  return {
    keys: orderedKeys(set.keys, leading),
    property: properties.join(', '),
    needsCovering: body.group !== undefined,
    last: body.group ? aggregated(body, source) : [],
  };
}

/** The keys with one value first, then `leading`, then the other ones. */
function orderedKeys(keys: readonly KeyUse[], leading: readonly KeyUse[]): KeyUse[] {
  const texts = new Set(leading.map(({ text }) => text));
  const others = keys.filter(({ text }) => !texts.has(text));
  const isFirst = ({ rank }: KeyUse): boolean => rank === ranks.equal || rank === ranks.unnest;
  return [...others.filter(isFirst), ...leading, ...others.filter((key) => !isFirst(key))];
}

/** The keys of GROUP BY; undefined if the index cannot group. */
function groupKeys({ body, source, set, isComplete }: PushdownRequest): readonly KeyUse[] | undefined {
  const { group } = body;
  if (!group || !isComplete || group.having || group.rows || group.letting.length > 0) return undefined;
  const keys: KeyUse[] = [];
  for (const { expression } of group.keys) {
    if (set.keys.some(({ provides }) => provides?.(expression))) continue;
    const key = keyOf(expression, source);
    if (!key) return undefined;
    keys.push(key);
  }
  return keys;
}

/** The keys of ORDER BY; empty without ORDER BY, undefined if the index cannot provide the order. */
function orderKeys(
  { select, body, source, set, hasIdCondition }: PushdownRequest,
  groups: readonly KeyUse[],
): readonly KeyUse[] | undefined {
  const keys: KeyUse[] = [];
  for (const { expression, isDescending, nulls } of select.order) {
    const ungrouped = groupedExpression(expression, body);
    if (nulls !== undefined || typeof isDescending !== 'boolean') return undefined;
    if (ungrouped.kind === 'slot' && ungrouped.slot === source.idSlot && !hasIdCondition) return undefined;
    const key = keyOf(ungrouped, source);
    if (!key || (body.group && !groups.some(({ text }) => text === key.text))) return undefined;
    // The index can have the key for a predicate, whose rank decides on its place.
    const { rank } = set.keys.find(({ text }) => text === key.text) ?? key;
    keys.push({ ...key, rank, isDescending });
  }
  return keys;
}

/** ORDER BY of a grouped query reads the group's slots. */
function groupedExpression(expression: Expression, { group }: LogicalSubselect): Expression {
  if (expression.kind !== 'slot') return expression;
  return group?.keys.find(({ slot }) => slot === expression.slot)?.expression ?? expression;
}

/** The arguments of aggregates as keys, those with DISTINCT first. */
function aggregated({ group }: LogicalSubselect, source: Source): readonly KeyUse[] {
  const nodes = (group?.aggregates ?? []).map(({ node }) => node);
  return nodes
    .toSorted((a, b) => Number(b.isDistinct) - Number(a.isDistinct))
    .flatMap((node) => node.arguments)
    .map((argument) => keyOf(argument, source))
    .filter((key) => key !== undefined);
}

/** The expression as a key that no predicate uses; undefined if the expression cannot be a key. */
export function keyOf(expression: Expression, source: Source): KeyUse | undefined {
  if (!readsAny(expression, sourceSlots(source)) || !isRepeatable(expression)) return undefined;
  if (expression.kind === 'slot' && expression.slot === source.slot) return undefined;
  const text = keyText(ofDocument(expression, source));
  return {
    text,
    name: namePart(text),
    rank: ranks.present,
    isMissing: false,
    flavor: undefined,
    isUsed: false,
  };
}
