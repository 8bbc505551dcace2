// Chooses the access path of one keyspace: keys, one or several indexes, a count, or a scan of the collection.
import type { IndexDefinition } from '../datastore/indexes.ts';
import { quotedKeyspace } from '../datastore/keyspace.ts';
import { sqlError } from '../errors/sql-error.ts';
import type { Expression } from '../tree/expression.ts';
import type { Access, ScanRole } from './access-state.ts';
import { bestMatch, type Candidate, mayCover } from './best-match.ts';
import type { Source } from './block.ts';
import { conjunctsOf, disjunctsOf, isVolatile, readsAny, readsOnly } from './conjuncts.ts';
import { coverage } from './covering.ts';
import { type BoundIndex, boundIndex } from './index-keys.ts';
import { matchIndex, spansMax, type UnnestBinding } from './index-match.ts';
import type { KeyspaceFrom, LogicalFrom, OrderTerm } from './logical.ts';
import type { IndexScan, Operator } from './operators.ts';
import { pushDown } from './pushdown.ts';
import type { SargContext } from './sarg.ts';
import { nestableBounds } from './spans.ts';

/** `conjuncts`: predicates that the rows of the keyspace fulfil. `available`: slots that are set when the scan begins. */
export function accessTo(
  access: Access,
  from: KeyspaceFrom,
  conjuncts: readonly Expression[],
  available: ReadonlySet<number>,
  role: ScanRole,
): Operator {
  const { source, keyspace } = from;
  const isDistinct = role === 'mutation';
  if (!keyspace.keyspace) return { op: 'catalog scan', source, keyspace, keys: from.keys, isDistinct };
  if (from.keys)
    return withFetch(access, from, { op: 'key scan', source, keyspace, keys: from.keys, isDistinct });
  const context = sargContext(access, source, available);
  const hinted = hintedIndexes(access, from);
  const keys = hinted.size > 0 ? undefined : keysOf(source, conjuncts, context);
  // A join may use the keys that its predicate names without any index. Elsewhere, as on published servers (7.1), such keys are used only if
  // the keyspace could be read as a whole.
  if (keys && (role === 'inner' || canReadWhole(access, from)))
    return withFetch(access, from, { op: 'key scan', source, keyspace, keys, isDistinct: true });
  const indexed = indexedAccess(access, from, conjuncts, context, hinted, role);
  if (indexed) return indexed;
  const counted = role === 'first' ? countOf(access, from, conjuncts) : undefined;
  return counted ?? wholeAccess(access, from, conjuncts, role);
}

function sargContext(access: Access, source: Source, available: ReadonlySet<number>): SargContext {
  const ownSlots = new Set(
    [source.slot, source.idSlot, source.metaSlot].filter((slot) => slot !== undefined),
  );
  return {
    ownSlots,
    isReadable: (expression) => readsOnly(expression, available),
    constantOf: (expression) => access.planning.constantOf(expression),
    compare: (a, b) => access.planning.compare(a, b),
  };
}

/** The document keys that `META().id = value` or `META().id IN values` names. */
function keysOf(
  source: Source,
  conjuncts: readonly Expression[],
  context: SargContext,
): Expression | undefined {
  const isId = (node: Expression): boolean => node.kind === 'slot' && node.slot === source.idSlot;
  const isBound = (node: Expression): boolean =>
    !readsAny(node, context.ownSlots) && !isVolatile(node) && context.isReadable(node) && !isLocal(node);
  for (const conjunct of conjuncts) {
    if (conjunct.kind === 'comparison' && conjunct.operator === '=') {
      if (isId(conjunct.left) && isBound(conjunct.right)) return conjunct.right;
      if (isId(conjunct.right) && isBound(conjunct.left)) return conjunct.left;
    }
    if (conjunct.kind === 'membership' && conjunct.operator === 'in' && !conjunct.isNegated) {
      if (isId(conjunct.of) && isBound(conjunct.list)) return conjunct.list;
    }
  }
  return undefined;
}

/** A variable of ANY, ARRAY …, or SELF: it has no value when the scan begins. */
function isLocal(node: Expression): boolean {
  return node.kind === 'identifier' || node.kind === 'self';
}

/** Whether the keyspace has an online primary index, or sequential scans are allowed. */
function canReadWhole(access: Access, from: KeyspaceFrom): boolean {
  return access.planning.sequentialScans || primaryOf(access, from) !== undefined;
}

function primaryOf(access: Access, from: KeyspaceFrom): IndexDefinition | undefined {
  const { keyspace } = from.keyspace;
  if (!keyspace) return undefined;
  return access.planning
    .indexesOf(keyspace)
    .find((status) => status.definition.isPrimary && status.state === 'online')?.definition;
}

/** The indexes that USE INDEX or a hint names: others are used only if none of these serves the predicates. */
function hintedIndexes(access: Access, from: KeyspaceFrom): ReadonlySet<string> {
  const names = from.use.indexes.map((ref) => ref.name).filter((name) => name !== undefined);
  for (const hint of access.hints?.hints ?? []) {
    if (hint.problem !== undefined || hint.name !== 'index' || hint.arguments[0] !== from.source.alias)
      continue;
    names.push(...hint.arguments.slice(1));
  }
  return new Set(names);
}

function indexedAccess(
  access: Access,
  from: KeyspaceFrom,
  conjuncts: readonly Expression[],
  context: SargContext,
  hinted: ReadonlySet<string>,
  role: ScanRole,
): Operator | undefined {
  const all = usableIndexes(access, from);
  const unnests = role === 'first' && access.body?.from ? unnestsOf(access.body.from) : [];
  const bestOf = (indexes: readonly BoundIndex[]): Operator | undefined => {
    const matches = indexes
      .map((index) => matchIndex(index, conjuncts, context, unnests))
      .filter((match) => match !== undefined);
    const best = bestMatch(access, from, matches, conjuncts, role);
    const union = unionOf(access, from, indexes, conjuncts, context);
    // A union of scans is better than the scan of one index, unless the predicates fix a key of that index to single values.
    if (union && (!best || best.match.points === 0)) return union;
    return best ? scanOf(access, from, best, conjuncts, role) : undefined;
  };
  const preferred = all.filter((index) => hinted.has(index.definition.name));
  return (preferred.length > 0 ? bestOf(preferred) : undefined) ?? bestOf(all);
}

/** The online secondary indexes of the keyspace. */
function usableIndexes(access: Access, from: KeyspaceFrom): BoundIndex[] {
  const { keyspace } = from.keyspace;
  if (!keyspace) return [];
  return access.planning
    .indexesOf(keyspace)
    .filter((status) => status.state === 'online' && !status.definition.isPrimary)
    .map((status) => boundIndex(access.planning, status.definition, from.source));
}

/** The inner UNNEST terms of FROM. */
function unnestsOf(from: LogicalFrom): UnnestBinding[] {
  if (from.kind === 'unnest') {
    const rest = unnestsOf(from.left);
    return from.join === 'inner' ? [...rest, { source: from.source, expression: from.expression }] : rest;
  }
  return from.kind === 'join' || from.kind === 'nest' ? unnestsOf(from.left) : [];
}

/** The scan of one index, with the clauses that it can apply. */
function scanOf(
  access: Access,
  from: KeyspaceFrom,
  { match, estimate }: Candidate,
  conjuncts: readonly Expression[],
  role: ScanRole,
): Operator {
  const { source, keyspace } = from;
  const { definition } = match.index;
  access.planning.used.set(definition.id, definition);
  const covers = mayCover(access, role) ? coverage(access, source, match.index, conjuncts) : undefined;
  for (const cover of covers ?? []) access.covered.set(cover.key, cover.slot);
  const pushed =
    role === 'first'
      ? pushDown(access, match, conjuncts)
      : { isReverse: false, isOrdered: false, isLimited: false };
  if (pushed.isOrdered) access.isOrdered = true;
  if (pushed.isLimited) {
    access.isLimited = true;
    access.nestableBounds = nestableBounds(match.spans);
  }
  const scan: IndexScan = {
    op: 'index scan',
    source,
    keyspace,
    index: definition,
    spans: match.spans,
    isReverse: pushed.isReverse,
    isDistinct: match.isArray,
    covers: (covers ?? []).filter((cover) => cover.position >= 0),
    constants: (covers ?? []).filter((cover) => cover.position < 0),
    isCovering: covers !== undefined,
    keyExpressions: match.index.keys.map(({ expression }) => expression),
    limit: pushed.isLimited ? access.select?.limit : undefined,
    offset: pushed.isLimited ? access.select?.offset : undefined,
    isOrdered: pushed.isOrdered,
    estimate,
  };
  return covers ? scan : withFetch(access, from, scan);
}

/** Scans for `a = 1 OR b = 2`, with an index for each side. */
function unionOf(
  access: Access,
  from: KeyspaceFrom,
  indexes: readonly BoundIndex[],
  conjuncts: readonly Expression[],
  context: SargContext,
): Operator | undefined {
  const or = conjuncts.find((each) => each.kind === 'logical' && each.operator === 'or');
  if (!or) return undefined;
  const others = conjuncts.filter((each) => each !== or);
  const scans: IndexScan[] = [];
  const sides = disjunctsOf(or);
  if (sides.length > spansMax) return undefined;
  for (const side of sides) {
    const matches = indexes
      .map((index) => matchIndex(index, [...others, ...conjunctsOf(side)], context, []))
      .filter((match) => match !== undefined);
    // As for a mutation: the scans of a union never cover.
    const best = bestMatch(access, from, matches, conjuncts, 'mutation');
    if (!best || best.match.depth === 0) return undefined;
    scans.push(plainScan(from, best));
  }
  for (const scan of scans) access.planning.used.set(scan.index.id, scan.index);
  return withFetch(access, from, {
    op: 'union scan',
    source: from.source,
    keyspace: from.keyspace,
    scans,
  });
}

/** A scan for document keys, without clauses of the statement. */
function plainScan(from: KeyspaceFrom, { match, estimate }: Candidate): IndexScan {
  return {
    op: 'index scan',
    source: from.source,
    keyspace: from.keyspace,
    index: match.index.definition,
    spans: match.spans,
    isReverse: false,
    isDistinct: true,
    covers: [],
    constants: [],
    isCovering: false,
    keyExpressions: [],
    limit: undefined,
    offset: undefined,
    isOrdered: false,
    estimate,
  };
}

/** COUNT(*) of a keyspace without a predicate, which needs no scan. */
function countOf(access: Access, from: KeyspaceFrom, conjuncts: readonly Expression[]): Operator | undefined {
  const { body } = access;
  const group = body?.group;
  if (!group || body.from !== from || conjuncts.length > 0 || body.let.length > 0 || group.rows)
    return undefined;
  if (group.keys.length > 0 || group.aggregates.length === 0) return undefined;
  const areCounts = group.aggregates.every(
    ({ node }) => node.name === 'count' && node.arguments.length === 0 && !node.filter && !node.isDistinct,
  );
  if (!areCounts || !canReadWhole(access, from)) return undefined;
  return {
    op: 'count scan',
    keyspace: from.keyspace,
    source: from.source,
    slots: group.aggregates.map(({ slot }) => slot),
  };
}

/** Reads the whole keyspace. @throws SqlError 4000 if it has no primary index, and sequential scans are not allowed */
function wholeAccess(
  access: Access,
  from: KeyspaceFrom,
  conjuncts: readonly Expression[],
  role: ScanRole,
): Operator {
  const { source, keyspace } = from;
  const index = primaryOf(access, from);
  if (!index && !access.planning.sequentialScans) {
    const name = quotedKeyspace(keyspace.name);
    throw sqlError(
      4000,
      `No index available on keyspace ${name} that matches your query. Use CREATE PRIMARY INDEX ON ${name} to create a primary index, or check that your expected index is online.`,
    );
  }
  if (index) access.planning.used.set(index.id, index);
  const isLimited = role === 'first' && conjuncts.length === 0 && canLimit(access, from);
  if (isLimited) access.isLimited = true;
  if (isLimited && index) return withFetch(access, from, firstKeys(access, from, index));
  return {
    op: 'collection scan',
    source,
    keyspace,
    keysOnly: access.body !== undefined && !needsDocument(access, source),
    index,
    limit: isLimited ? access.select?.limit : undefined,
    offset: isLimited ? access.select?.offset : undefined,
  };
}

/** A scan of the primary index for the first keys in their order. */
function firstKeys(access: Access, from: KeyspaceFrom, index: IndexDefinition): Operator {
  const { limit, offset, order } = access.select as NonNullable<Access['select']>;
  if (order.length > 0) access.isOrdered = true;
  return {
    op: 'index scan',
    source: from.source,
    keyspace: from.keyspace,
    index,
    spans: [],
    isReverse: order[0]?.isDescending === true,
    isDistinct: false,
    covers: [],
    constants: [],
    isCovering: false,
    keyExpressions: [],
    limit,
    offset,
    isOrdered: order.length > 0,
    estimate: undefined,
  };
}

/** ORDER BY META().id, which is the order of a primary index. */
function isKeyOrder(order: readonly OrderTerm[], source: Source): boolean {
  const [first] = order;
  if (order.length !== 1 || !first || typeof first.isDescending !== 'boolean' || first.nulls) return false;
  return first.expression.kind === 'slot' && first.expression.slot === source.idSlot;
}

/** Whether a scan of the whole keyspace can apply LIMIT and OFFSET. */
function canLimit(access: Access, from: KeyspaceFrom): boolean {
  const { select, body } = access;
  if (!select || !body || body.from !== from || body.where || body.group || body.windows.length > 0)
    return false;
  if (body.projection.isDistinct || select.limit === undefined) return false;
  return (
    select.order.length === 0 ||
    (isKeyOrder(select.order, from.source) && primaryOf(access, from) !== undefined)
  );
}

/** Whether the SELECT reads more of the document than its key. */
function needsDocument(access: Access, source: Source): boolean {
  const { slots } = access.uses;
  if (source.usesMeta) return true;
  return slots.has(source.slot) || (source.metaSlot !== undefined && slots.has(source.metaSlot));
}

function withFetch(access: Access, from: KeyspaceFrom, input: Operator): Operator {
  // There may be no document with a key that the statement gives, so the document must be read.
  if (input.op !== 'key scan' && !needsDocument(access, from.source) && access.body) return input;
  return { op: 'fetch', input, source: from.source, keyspace: from.keyspace };
}
