// Which keys an index should have to serve a statement: each keyspace for itself, keys in the order of their predicates' kinds.
import type { Keyspace } from '../datastore/keyspace.ts';
import { formatExpression } from '../text/format.ts';
import type { Expression } from '../tree/query.ts';
import type { PlainStatement } from '../tree/statement.ts';
import type { Source } from './block.ts';
import { targetOf } from './build-change.ts';
import { conjunctsOf, isStatic, readsAny } from './conjuncts.ts';
import type { LogicalFrom, LogicalSelect, LogicalSubselect } from './logical.ts';
import { type Directory, type QueryContext, Resolver } from './resolver.ts';
import { type Uses, usesOf } from './uses.ts';
import { childrenOf, replace } from './walk.ts';

export interface Advice {
  readonly keyspace: Keyspace;
  readonly alias: string;
  readonly isExplicit: boolean;
  readonly keys: readonly string[];
  /** With these keys more the index has all that the statement reads; undefined: it never has. */
  readonly coveringKeys: readonly string[] | undefined;
  /** `field = "constant"`: the condition of a partial index. */
  readonly flavors: readonly { readonly key: string; readonly text: string }[];
  readonly rule: string;
  readonly property: string | undefined;
}

export function adviceFor(
  statement: PlainStatement,
  text: string,
  context: { readonly datastore: Directory; readonly queryContext?: QueryContext },
): Advice[] {
  const resolver = new Resolver(text, context.datastore, context.queryContext);
  if (statement.kind === 'select') return adviceOfSelect(resolver.select(statement, undefined));
  if (statement.kind !== 'update' && statement.kind !== 'delete') return [];
  const target = statement.kind === 'update' ? statement.target : statement.from;
  const { scope, source, target: ref } = targetOf(resolver, target, statement.kind);
  if (!statement.where || !ref.keyspace || statement.keys) return [];
  const where = resolver.expression(statement.where, scope);
  const found = keysFor(source, conjunctsOf(where));
  if (!found) return [];
  const covering = statement.kind === 'delete' ? found.keys : undefined;
  return [adviceOf(ref.keyspace, source, found, covering, undefined)];
}

function adviceOfSelect(select: LogicalSelect): Advice[] {
  const { body } = select;
  if (body.kind === 'set operation')
    return [...adviceOfSelect(body.left), ...(body.right ? adviceOfSelect(body.right) : [])];
  if (!body.from) return [];
  return adviceOfFrom(select, body, body.from, conjunctsOf(body.where), usesOf(select, body));
}

function adviceOfFrom(
  select: LogicalSelect,
  body: LogicalSubselect,
  from: LogicalFrom,
  conditions: readonly Expression[],
  uses: Uses,
): Advice[] {
  switch (from.kind) {
    case 'keyspace': {
      const { keyspace } = from.keyspace;
      if (!keyspace || from.keys) return [];
      const found = keysFor(from.source, conditions);
      if (!found) return [];
      const property = body.from === from ? propertyOf(select, body, found) : undefined;
      return [adviceOf(keyspace, from.source, found, coveringKeys(from.source, uses, found), property)];
    }
    case 'subquery':
      return adviceOfSelect(from.select);
    case 'join':
    case 'nest': {
      const on = from.on.kind === 'on' ? conjunctsOf(from.on.condition) : [];
      return [
        ...adviceOfFrom(
          select,
          body,
          from.left,
          [...conditions, ...on.filter((each) => readsOneSource(each, body))],
          uses,
        ),
        ...adviceOfFrom(select, body, from.right, [...conditions, ...on], uses),
      ];
    }
    case 'unnest':
      return adviceOfFrom(select, body, from.left, conditions, uses);
    default:
      return [];
  }
}

function readsOneSource(condition: Expression, { sources }: LogicalSubselect): boolean {
  return sources.filter((source) => readsAny(condition, slotsOf(source))).length === 1;
}

function slotsOf(source: Source): Set<number> {
  return new Set([source.slot, source.idSlot, source.metaSlot].filter((slot) => slot !== undefined));
}

function adviceOf(
  keyspace: Keyspace,
  { alias, isExplicit }: Source,
  { keys, flavors, ranks }: FoundKeys,
  covering: readonly string[] | undefined,
  property: string | undefined,
): Advice {
  const kinds = [...ranks, ...(flavors.length > 0 ? [10] : [])].map((rank) => `${rank}. ${kindNames[rank]}`);
  const rule = `Index keys follow order of predicate types: ${[...new Set(kinds)].join(', ')}.`;
  return { keyspace, alias, isExplicit, keys, coveringKeys: covering, flavors, rule, property };
}

const kindNames: Readonly<Record<number, string>> = {
  2: 'equality/null/missing',
  3: 'in',
  4: 'not less than/between/not greater than',
  5: 'less than/greater than',
  7: 'not null/not missing/valued',
  8: 'like',
  9: 'non-static join predicate',
  10: 'flavor for partial index',
};

interface FoundKeys {
  readonly keys: readonly string[];
  readonly flavors: Advice['flavors'];
  /** Kinds of predicates on the keys, in their order. */
  readonly ranks: readonly number[];
  /** Every condition is on a key. */
  readonly isComplete: boolean;
}

function keysFor(source: Source, conditions: readonly Expression[]): FoundKeys | undefined {
  const own = conditions.filter((condition) => readsAny(condition, slotsOf(source)));
  const found = own.map((condition) => keyOf(condition, source));
  const known = found.filter((each) => each !== undefined);
  const isComplete = known.length === found.length;
  const plain = known.filter((each) => !each.isFlavor);
  const flavored = isComplete && plain.length > 0 ? known.filter((each) => each.isFlavor) : [];
  const chosen = (flavored.length > 0 ? plain : known).toSorted((a, b) => a.rank - b.rank);
  const keys = [...new Set(chosen.map((each) => each.key))];
  if (keys.length === 0) return undefined;
  return {
    keys,
    flavors: flavored.map(({ key, text }) => ({ key, text })),
    ranks: chosen.map((each) => each.rank),
    isComplete,
  };
}

interface KeyPredicate {
  readonly key: string;
  readonly rank: number;
  readonly isFlavor: boolean;
  readonly text: string;
}

function keyOf(condition: Expression, source: Source): KeyPredicate | undefined {
  const own = slotsOf(source);
  const isKey = (node: Expression): boolean =>
    readsAny(node, own) &&
    !(node.kind === 'slot' && (node.slot === source.slot || node.slot === source.idSlot));
  const made = (node: Expression, rank: number): KeyPredicate => ({
    key: bare(node, source),
    rank,
    isFlavor: false,
    text: '',
  });
  switch (condition.kind) {
    case 'comparison': {
      if (condition.operator === '!=') return undefined;
      for (const [side, other] of [
        [condition.left, condition.right],
        [condition.right, condition.left],
      ] as const) {
        if (!isKey(side) || readsAny(other, own)) continue;
        const rank = condition.operator === '=' ? 2 : condition.operator.length === 2 ? 4 : 5;
        if (!isStatic(other)) return made(side, 9);
        const flavor =
          rank === 2 && side.kind === 'field' && other.kind === 'constant' && typeof other.value === 'string';
        const key = bare(side, source);
        return { key, rank, isFlavor: flavor, text: flavor ? `${key} = '${String(other.value)}'` : '' };
      }
      return undefined;
    }
    case 'membership':
      return isKey(condition.of) && !condition.isNegated && condition.operator === 'in'
        ? made(condition.of, 3)
        : undefined;
    case 'between':
      return isKey(condition.of) && !condition.isNegated ? made(condition.of, 4) : undefined;
    case 'like':
      return isKey(condition.of) && !condition.isNegated ? made(condition.of, 8) : undefined;
    case 'is': {
      const isPresent = condition.isNegated === (condition.what !== 'valued');
      if (!isKey(condition.of)) return undefined;
      return made(condition.of, isPresent ? 7 : 2);
    }
    default:
      return undefined;
  }
}

/** The index's keys and after them all else that the statement reads of the source. */
function coveringKeys(
  source: Source,
  uses: Uses,
  { keys, flavors }: FoundKeys,
): readonly string[] | undefined {
  const known = new Set([...keys, ...flavors.map(({ key }) => key)]);
  const more = new Set<string>();
  let isWhole = false;
  const visit = (node: Expression): void => {
    if (!readsAny(node, slotsOf(source))) return;
    if (node.kind === 'slot') {
      if (node.slot !== source.idSlot) isWhole = true;
      return;
    }
    const key = bare(node, source);
    if (known.has(key)) return;
    if (node.kind === 'field') more.add(key);
    else for (const child of childrenOf(node)) visit(child);
  };
  for (const expression of uses.expressions) visit(expression);
  return isWhole ? undefined : [...keys, ...[...more].sort()];
}

/** What an index with the keys could do beside finding. */
function propertyOf(
  { limit, offset, order }: LogicalSelect,
  { group, windows, projection }: LogicalSubselect,
  { isComplete, ranks }: FoundKeys,
): string | undefined {
  const isPlain = !group && windows.length === 0 && !projection.isDistinct && order.length === 0;
  if (!isPlain || !limit || !isComplete || !ranks.every((rank) => rank <= 5)) return undefined;
  return offset ? 'OFFSET pushdown, LIMIT pushdown' : 'LIMIT pushdown';
}

/** The expression as an index key has it: without the alias in front. */
function bare(node: Expression, source: Source): string {
  const without = replace(node, (part) => {
    if (part.kind === 'slot' && part.slot === source.slot) return { kind: 'self', at: part.at };
    if (part.kind === 'slot' && part.slot === source.metaSlot)
      return { kind: 'call', name: 'meta', arguments: [], at: part.at };
    if (part.kind !== 'field' || part.of.kind !== 'slot' || part.of.slot !== source.slot) return undefined;
    const { name } = part;
    return name.kind === 'constant'
      ? { kind: 'identifier', name: String(name.value), ignoresCase: part.ignoresCase, at: part.at }
      : undefined;
  });
  const text = formatExpression(without);
  return /^\([^()]*(\(\))?[^()]*\)$/.test(text) ? text.slice(1, -1) : text;
}
