// Finds the index key that a predicate can use, in the syntax of CREATE INDEX.
import { likePrefix } from '../functions/like-patterns.ts';
import type { Source } from '../plan/block.ts';
import { isRepeatable, isStatic, readsAny } from '../plan/conjuncts.ts';
import { some } from '../plan/walk.ts';
import { formatExpression } from '../text/format.ts';
import type { ComparisonOperator, Expression, Like, Quantified } from '../tree/expression.ts';
import { bindingsText, keyText, namePart, ofDocument, withoutParentheses } from './advice-text.ts';
import { type KeyUse, keySetsOf, normalForm, ranks } from './key-use.ts';

/** Whether the field distinguishes kinds of documents in the keyspace. */
export type IsKind = (field: string, value: string) => boolean;

/** What the keys of an index are computed from, documents or the elements of arrays in them: says which expressions can be keys. */
export interface KeyOrigin {
  /** Whether the expression reads the document or element. */
  readonly isOwn: (node: Expression) => boolean;
  /** Whether the expression can be a key. */
  readonly isKey: (node: Expression) => boolean;
  /** The key's text. */
  readonly textOf: (node: Expression) => string;
  /** The part of the index's name for a key with this text. */
  readonly nameOf: (text: string) => string;
  readonly isKind?: IsKind;
  /** The array key that ANY can use. */
  readonly quantified?: (node: Quantified) => KeyUse | undefined;
}

/** The slots of a keyspace's documents. */
export function sourceSlots(source: Source): Set<number> {
  return new Set([source.slot, source.idSlot, source.metaSlot].filter((slot) => slot !== undefined));
}

/** For keys of the documents of a keyspace. */
export function documentOrigin(source: Source, isKind: IsKind): KeyOrigin {
  const ownSlots = sourceSlots(source);
  const isOwn = (node: Expression): boolean => readsAny(node, ownSlots);
  return {
    isOwn,
    isKey: (node) => isOwn(node) && !(node.kind === 'slot' && node.slot === source.idSlot),
    textOf: (node) => keyText(ofDocument(node, source)),
    nameOf: namePart,
    isKind,
    quantified: (node) => arrayKeyOf(node, source),
  };
}

/** The key that the condition can use; undefined if an index cannot serve the condition. */
export function keyUseOf(condition: Expression, origin: KeyOrigin): KeyUse | undefined {
  switch (condition.kind) {
    case 'comparison':
      return comparisonUse(condition, origin);
    case 'membership':
      if (condition.isNegated || condition.operator !== 'in' || origin.isOwn(condition.list))
        return undefined;
      return useAsKey(condition.of, origin, isStatic(condition.list) ? ranks.in : ranks.join);
    case 'between':
      return condition.isNegated ? undefined : useAsKey(condition.of, origin, ranks.between);
    case 'like':
      return condition.isNegated ? undefined : useAsKey(condition.of, origin, likeRank(condition));
    case 'is': {
      const isPresent = condition.isNegated === (condition.test !== 'valued');
      const isMissing = condition.test === 'missing' && !condition.isNegated;
      return useAsKey(condition.of, origin, isPresent ? ranks.present : ranks.equal, isMissing);
    }
    case 'quantified':
      return origin.quantified?.(condition);
    default:
      return undefined;
  }
}

/** A pattern with a known beginning selects a range of values, as BETWEEN does. */
function likeRank({ pattern, escape: escapeCharacter }: Like): number {
  if (pattern.kind !== 'constant' || typeof pattern.value !== 'string' || escapeCharacter) return ranks.like;
  return likePrefix(pattern.value, '\\').prefix === '' ? ranks.like : ranks.between;
}

/** The use of the expression as a key; undefined if the expression cannot be a key. */
function useAsKey(node: Expression, origin: KeyOrigin, rank: number, isMissing = false): KeyUse | undefined {
  if (!origin.isKey(node) || !isRepeatable(node)) return undefined;
  const text = origin.textOf(node);
  return { text, name: origin.nameOf(text), rank, isMissing, flavor: undefined };
}

/** `!=` stays in conditions whose normal form would have too many disjuncts. */
const operatorRanks: Readonly<Record<ComparisonOperator, number>> = {
  '=': ranks.equal,
  '<': ranks.less,
  '>': ranks.less,
  '<=': ranks.between,
  '>=': ranks.between,
  '!=': ranks.between,
};

function comparisonUse(
  { left, right, operator }: Extract<Expression, { kind: 'comparison' }>,
  origin: KeyOrigin,
): KeyUse | undefined {
  for (const [key, other] of [
    [left, right],
    [right, left],
  ] as const) {
    if (!origin.isKey(key) || origin.isOwn(other)) continue;
    if (!isStatic(other)) return useAsKey(key, origin, ranks.join);
    const found = useAsKey(key, origin, operatorRanks[operator]);
    if (!found || operator !== '=' || other.kind !== 'constant' || typeof other.value !== 'string')
      return found;
    const isFlavor =
      key.kind === 'field' && key.of.kind === 'slot' && origin.isKind?.(found.name, other.value) === true;
    const value = `'${other.value.replaceAll("'", "''")}'`;
    return isFlavor ? { ...found, flavor: `${found.text} = ${value}` } : found;
  }
  return undefined;
}

/** ANY … IN field SATISFIES … END: a key of an array index. */
function arrayKeyOf(node: Quantified, source: Source): KeyUse | undefined {
  const ownSlots = sourceSlots(source);
  if (!node.bindings.every(({ of }) => readsAny(of, ownSlots) && isRepeatable(of))) return undefined;
  const found = elementKey(node, source, []);
  return found && { ...found, provides: (part) => part === node };
}

/** `outer`: the variables of the ANY around this one. */
function elementKey(node: Quantified, source: Source, outer: readonly string[]): KeyUse | undefined {
  if (node.quantifier === 'every' || node.bindings.some(({ position }) => position !== undefined))
    return undefined;
  const variables = [...outer, ...node.bindings.map(({ name }) => name)];
  const names = new Set(node.bindings.map(({ name }) => name));
  const isOwn = (part: Expression): boolean =>
    some(part, (each) => each.kind === 'identifier' && names.has(each.name));
  const origin: KeyOrigin = {
    isOwn,
    isKey: isOwn,
    textOf: (part) => keyText(ofDocument(part, source)),
    nameOf: (text) => namePart(text, variables),
    quantified: (inner) =>
      inner.bindings.every(({ of }) => isOwn(of)) ? elementKey(inner, source, variables) : undefined,
  };
  const disjuncts = normalForm(node.satisfies).map((conjuncts) =>
    conjuncts.map((each) => keyUseOf(each, origin)).filter((each) => each !== undefined),
  );
  const sets = keySetsOf(disjuncts);
  const [set] = sets ?? [];
  const [first] = set?.keys ?? [];
  if (!set || sets?.length !== 1 || !first || (disjuncts.length > 1 && set.shared !== set.keys.length))
    return undefined;
  const isNested = first.text.startsWith('DISTINCT ');
  if (isNested && set.keys.length > 1) return undefined;
  const value =
    set.keys.length > 1
      ? `FLATTEN_KEYS(${set.keys.map(({ text }) => text).join(',')})`
      : isNested
        ? `(${first.text})`
        : first.text;
  // The name of the index has the keys in the order of the predicates, its key in the order of their ranks.
  const written = (disjuncts[0] ?? []).map(({ text }) => text);
  const inOrder = set.keys.toSorted((a, b) => written.indexOf(a.text) - written.indexOf(b.text));
  const arrayTexts = node.bindings.map(({ of }) => namePart(keyText(ofDocument(of, source)), variables));
  const keyNames = inOrder.map(({ name }) => name.replace(/^DISTINCT_/, ''));
  return {
    text: `DISTINCT ARRAY ${value} FOR ${bindingsText(node.bindings, source)} END`,
    name: ['DISTINCT', ...arrayTexts, ...keyNames].filter((part) => part !== '').join('_'),
    rank: Math.min(...set.keys.map(({ rank }) => rank)),
    isMissing: false,
    flavor: undefined,
  };
}

/** UNNEST terms one after another, the first of which is over a field of the documents. */
export interface UnnestChain {
  /** The keyspace with the documents. */
  readonly source: Source;
  readonly steps: readonly { readonly source: Source; readonly expression: Expression }[];
}

/** The array key for the chain and the predicates on its elements, which are in disjunctive normal form. */
export function unnestKey(
  { source, steps }: UnnestChain,
  disjuncts: readonly (readonly Expression[])[],
): KeyUse {
  const slots = new Set(steps.map((step) => step.source.slot));
  const isOwn = (node: Expression): boolean => readsAny(node, slots);
  const aliases = steps.map((step) => step.source.alias);
  const origin: KeyOrigin = {
    isOwn,
    isKey: isOwn,
    textOf: (node) => keyText(node),
    nameOf: (text) => (/^`[^`]+`(\.`[^`]+`)+$/.test(text) ? namePart(text, aliases) : namePart(text)),
  };
  const uses = disjuncts.map((conjuncts) =>
    conjuncts.map((each) => keyUseOf(each, origin)).filter((each) => each !== undefined),
  );
  const shared = uses.every((each) => each.length > 0) ? (keySetsOf(uses)?.[0]?.keys ?? []) : [];
  const last = steps.at(-1) as UnnestChain['steps'][number];
  const hasWholeElements =
    shared.length === 0 || (shared.length === 1 && shared[0]?.text === `\`${last.source.alias}\``);
  const arrayTexts = steps.map(({ expression }) => arrayText(expression, source));
  const value =
    shared.length > 1 ? `FLATTEN_KEYS(${shared.map(({ text }) => text).join(',')})` : (shared[0]?.text ?? '');
  let text = hasWholeElements
    ? `ALL ${arrayTexts.at(-1)}`
    : `ALL ARRAY ${value} FOR ${last.source.alias} IN ${arrayTexts.at(-1)} END`;
  for (let at = steps.length - 2; at >= 0; at--)
    text = `ALL ARRAY (${text}) FOR ${steps[at]?.source.alias} IN ${arrayTexts[at]} END`;
  const keyNames = hasWholeElements ? [] : shared.map(({ name }) => name);
  const arrayNames = steps.map(({ expression }) => arrayName(expression, source, aliases));
  const sharedTexts = new Set(shared.map((each) => each.text));
  const arrays = new Set(steps.map(({ expression }) => expression));
  return {
    text,
    name: ['ALL', ...arrayNames, ...keyNames].join('_'),
    rank: ranks.unnest,
    isMissing: false,
    flavor: undefined,
    provides: (node) =>
      arrays.has(node) ||
      (hasWholeElements && node.kind === 'slot' && node.slot === last.source.slot) ||
      (isOwn(node) && sharedTexts.has(keyText(node))),
  };
}

/** The array's text without the alias of the keyspace. */
function arrayText(expression: Expression, source: Source): string {
  return withoutParentheses(formatExpression(expression)).replaceAll(`\`${source.alias}\`.`, '');
}

/** The array's part of the name of the index. */
function arrayName(expression: Expression, source: Source, aliases: readonly string[]): string {
  return expression.kind === 'field'
    ? namePart(formatExpression(expression), [source.alias, ...aliases])
    : namePart(formatExpression(expression));
}
