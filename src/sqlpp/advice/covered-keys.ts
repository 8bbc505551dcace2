// The keys that an index needs in addition, so that it covers the statement.
import type { Source } from '../plan/block.ts';
import { readsAny, readsOnly } from '../plan/conjuncts.ts';
import { childrenOf } from '../plan/walk.ts';
import type { Expression } from '../tree/expression.ts';
import type { KeyUse } from './key-use.ts';
import { sourceSlots } from './predicates.ts';
import { keyOf } from './pushdown.ts';

interface CoverRequest {
  readonly source: Source;
  /** All expressions that the statement reads. */
  readonly expressions: readonly Expression[];
  /** Keys and conditions of the index. */
  readonly indexKeys: readonly KeyUse[];
  /** Slots of array elements, which only array keys can provide. */
  readonly elementSlots: ReadonlySet<number>;
}

/** Expressions of these kinds do not become keys themselves; the expressions in them do. */
const composed = new Set<Expression['kind']>([
  'comparison',
  'logical',
  'between',
  'like',
  'membership',
  'is',
  'not',
  'quantified',
  'exists',
  'aggregate',
  'array',
  'object',
  'subquery',
  'case',
]);

/** The additional keys sorted by name; undefined if no index can cover the statement. */
export function keysToCover({
  source,
  expressions,
  indexKeys,
  elementSlots,
}: CoverRequest): KeyUse[] | undefined {
  const ownSlots = sourceSlots(source);
  const texts = new Set(indexKeys.map(({ text }) => text));
  // Few keys are array keys. Without WHERE each field that the statement reads is a key: to ask all of them for each field would take minutes.
  const providers = indexKeys.map(({ provides }) => provides).filter((provides) => provides !== undefined);
  const added = new Map<string, KeyUse>();
  /** The statement reads a whole document or array element, which no key provides. */
  let needsDocument = false;
  const visit = (node: Expression): void => {
    if (needsDocument || !(readsAny(node, ownSlots) || readsAny(node, elementSlots))) return;
    if (providers.some((provides) => provides(node))) return;
    if (node.kind === 'slot') {
      if (node.slot !== source.idSlot) needsDocument = true;
      return;
    }
    const key = readsOnly(node, ownSlots) ? keyOf(node, source) : undefined;
    if (key && texts.has(key.text)) return;
    if (!key || composed.has(node.kind) || readsWhole(node, source))
      for (const child of childrenOf(node)) visit(child);
    else added.set(key.text, key);
  };
  for (const expression of expressions) visit(expression);
  return needsDocument ? undefined : [...added.values()].sort((a, b) => (a.text < b.text ? -1 : 1));
}

/** Whether the expression has a whole document as an argument: `OBJECT_NAMES(d)`. */
function readsWhole(node: Expression, source: Source): boolean {
  if (node.kind === 'field' || node.kind === 'element' || node.kind === 'slice') return false;
  return childrenOf(node).some(
    (child) => (child.kind === 'slot' && child.slot !== source.idSlot) || readsWhole(child, source),
  );
}
