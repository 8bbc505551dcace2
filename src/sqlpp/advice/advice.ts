// Finds indexes that would serve a statement, for each keyspace separately. Their keys are ordered by the kinds of their predicates.
import type { Keyspace } from '../datastore/keyspace.ts';
import type { Source } from '../plan/block.ts';
import { targetOf } from '../plan/build-change.ts';
import { conjunctsOf, isRepeatable, readsAny } from '../plan/conjuncts.ts';
import { LetInliner } from '../plan/let-inliner.ts';
import type { KeyspaceFrom, LogicalFrom, LogicalSelect, LogicalSubselect } from '../plan/logical.ts';
import { type Directory, type Functions, type QueryContext, Resolver } from '../plan/resolver.ts';
import { type Uses, usesOf } from '../plan/uses.ts';
import type { Expression } from '../tree/expression.ts';
import type { PlainStatement } from '../tree/statement.ts';
import type { Advice, AdvisedIndex } from './advised-index.ts';
import { keysToCover } from './covered-keys.ts';
import { type KeySet, type KeyUse, keySetsOf, normalFormOfAll, ranks, ruleOf } from './key-use.ts';
import { mergeAdvice } from './merge-advice.ts';
import { documentOrigin, keyUseOf, sourceSlots, type UnnestChain, unnestKey } from './predicates.ts';
import { keyOf, pushdownOf } from './pushdown.ts';

export interface AdviceContext {
  readonly datastore: Directory;
  readonly queryContext?: QueryContext;
  readonly userFunctions?: Functions;
  /** Whether `field = 'value'` selects a kind of document, so that a partial index suits. */
  readonly isKind: (keyspace: Keyspace, field: string, value: string) => boolean;
}

/** The indexes that published servers advise for the statement. */
export function adviceFor(statement: PlainStatement, text: string, context: AdviceContext): Advice[] {
  const resolver = new Resolver(text, context.datastore, context.queryContext, context.userFunctions);
  const adviser = new Adviser(context);
  if (statement.kind === 'select') return adviser.select(resolver.select(statement, undefined));
  if (statement.kind === 'merge')
    return mergeAdvice(resolver, statement, (...side) => adviser.keyspaceAdvice(...side));
  if (statement.kind !== 'update' && statement.kind !== 'delete') return [];
  const target = statement.kind === 'update' ? statement.target : statement.from;
  const { scope, source, target: ref } = targetOf(resolver, target, statement.kind);
  if (!statement.where || !ref.keyspace || statement.keys) return [];
  const where = resolver.expression(statement.where, scope);
  const advice = adviser.keyspaceAdvice(ref.keyspace, source, conjunctsOf(where));
  if (!advice || statement.kind === 'update') return advice ? [advice] : [];
  // As published servers do: the index that finds the documents of a DELETE counts as covering.
  return [{ ...advice, covering: advice.plain.length === 1 ? advice.plain[0] : undefined }];
}

/** The query around a FROM term, and the conditions that apply to the term. */
interface TermContext {
  readonly select: LogicalSelect;
  readonly body: LogicalSubselect;
  readonly uses: Uses;
  readonly conditions: readonly Expression[];
  /** Conditions of the joins and nests on whose left side the term is. */
  readonly joined: readonly Expression[];
  /** The UNNEST terms after the term, in their order. */
  readonly chain: UnnestChain['steps'];
}

class Adviser {
  readonly #context: AdviceContext;

  constructor(context: AdviceContext) {
    this.#context = context;
  }

  /** The advice for all keyspaces of a query, that for conditions of joins last. */
  select(select: LogicalSelect): Advice[] {
    const { body } = select;
    if (body.kind === 'set operation')
      return [...this.select(body.left), ...(body.right ? this.select(body.right) : [])];
    if (!body.from) return [];
    const inliner = new LetInliner(body.let, () => true);
    const conditions = conjunctsOf(body.where).map((each) => inliner.inlined(each));
    const term = { select, body, uses: usesOf(select, body), conditions, joined: [], chain: [] };
    const all = this.#from(body.from, term);
    return [...all.filter((each) => !each.isDerived), ...all.filter((each) => each.isDerived)];
  }

  #from(from: LogicalFrom, term: TermContext): Advice[] {
    switch (from.kind) {
      case 'keyspace': {
        const advice = this.#read(from, term);
        return advice ? [advice] : [];
      }
      case 'subquery':
        return this.select(from.select);
      case 'join':
      case 'nest': {
        const on = from.on.kind === 'on' ? conjunctsOf(from.on.condition) : [];
        const first = on.filter((each) => readsOneSource(each, term.body));
        const conditions = [...term.conditions, ...first];
        const left = { ...term, conditions, joined: [...term.joined, ...on], chain: [] };
        const right = { ...term, conditions: [...term.conditions, ...on], joined: [], chain: [] };
        return [...this.#from(from.left, left), ...this.#from(from.right, right)];
      }
      case 'unnest': {
        const step = { source: from.source, expression: from.expression };
        const chain = from.join === 'inner' && isRepeatable(from.expression) ? [step, ...term.chain] : [];
        return this.#from(from.left, { ...term, chain });
      }
      default:
        return [];
    }
  }

  /** For a keyspace of FROM: an index for its conditions, one that covers the query, and what else of the query the index could do. */
  #read(from: KeyspaceFrom, term: TermContext): Advice | undefined {
    const { source, keyspace: ref } = from;
    const { keyspace } = ref;
    if (!keyspace || from.keys) return undefined;
    const first = term.chain[0]?.expression;
    const chain = first && readsAny(first, sourceSlots(source)) ? term.chain : [];
    const found = this.#keySets(keyspace, source, term.conditions, chain);
    const common = { keyspace, alias: source.alias, isExplicit: source.isExplicit, isDerived: false };
    if (!found) return this.#unfiltered(common, from, term);
    const [set] = found.sets;
    const isAlone = rootOf(term.body.from) === from && found.sets.length === 1;
    if (!set || found.sets.length > 1)
      return { ...common, plain: found.sets.map(baseIndex), covering: undefined };
    const hasIdCondition = term.conditions.some((each) => readsId(each, source));
    const request = { ...term, source, set, isComplete: found.isComplete, hasIdCondition };
    const pushdown = isAlone ? pushdownOf(request) : undefined;
    const indexKeys = [...set.keys, ...set.flavors, ...(pushdown?.keys ?? [])];
    const elementSlots = new Set(term.chain.map((step) => step.source.slot));
    const addedKeys = keysToCover({ source, expressions: term.uses.expressions, indexKeys, elementSlots });
    const base = baseIndex(set);
    if (!addedKeys) {
      if (!pushdown?.property || pushdown.needsCovering)
        return { ...common, plain: [base], covering: undefined };
      const pushed = { ...base, keys: pushdown.keys, property: pushdown.property };
      const isSame =
        textsOf(pushed.keys) === textsOf(base.keys) ||
        (pushed.keys.length > set.keys.length && hasIdCondition);
      return { ...common, plain: isSame ? [pushed] : [pushed, base], covering: undefined };
    }
    const keys = pushdown ? [...pushdown.keys, ...pushdown.last] : set.keys;
    const covering = { ...base, keys: distinct([...keys, ...addedKeys]), property: pushdown?.property };
    return { ...common, plain: [base], covering };
  }

  /** For the keyspaces of MERGE, UPDATE and DELETE. */
  keyspaceAdvice(keyspace: Keyspace, source: Source, conditions: readonly Expression[]): Advice | undefined {
    const found = this.#keySets(keyspace, source, conditions, []);
    if (!found) return undefined;
    const { alias, isExplicit } = source;
    return {
      keyspace,
      alias,
      isExplicit,
      plain: found.sets.map(baseIndex),
      covering: undefined,
      isDerived: false,
    };
  }

  /** The keys of indexes for the conditions; undefined if no index serves them. `isComplete`: every condition is on a key. */
  #keySets(
    keyspace: Keyspace,
    source: Source,
    conditions: readonly Expression[],
    chain: UnnestChain['steps'],
  ): { readonly sets: KeySet[]; readonly isComplete: boolean } | undefined {
    const origin = documentOrigin(source, (field, value) => this.#context.isKind(keyspace, field, value));
    const slots = new Set([...sourceSlots(source), ...chain.map((step) => step.source.slot)]);
    const disjuncts = normalFormOfAll(conditions.filter((condition) => readsAny(condition, slots)));
    const array = chain.length > 0 ? unnestKey({ source, steps: chain }, disjuncts) : undefined;
    const elements = new Set(chain.map((step) => step.source.slot));
    let isComplete = true;
    const uses = disjuncts.map((conjuncts) => [
      ...(array ? [array] : []),
      ...conjuncts.flatMap((each) => {
        const use = keyUseOf(each, origin);
        if (!use && !(array && readsAny(each, elements))) isComplete = false;
        return use ? [use] : [];
      }),
    ]);
    const sets = keySetsOf(uses);
    return sets && { sets, isComplete };
  }

  /** For a keyspace without conditions that an index serves: an index for its joins, or one with the fields that the query returns, sorts and groups by. */
  #unfiltered(
    common: Omit<Advice, 'plain' | 'covering'>,
    from: KeyspaceFrom,
    term: TermContext,
  ): Advice | undefined {
    const { source } = from;
    if (term.body.from !== from) return this.#joinAdvice(common, source, term);
    const { select, body, uses } = term;
    const { group, projection } = body;
    const read = [
      ...projection.terms.flatMap((each) => (each.kind === 'term' ? [each.expression] : [])),
      ...select.order.map(({ expression }) => expression),
      ...(group?.keys.map(({ expression }) => expression) ?? []),
    ];
    const keys = distinct(
      read
        .filter((node) => node.kind === 'field')
        .flatMap((node) => keyOf(node, source) ?? [])
        .sort((a, b) => (a.text < b.text ? -1 : 1)),
    );
    if (keys.length === 0) return undefined;
    const set: KeySet = { keys: [], flavors: [], shared: 0 };
    const isComplete = body.where === undefined;
    const pushdown = pushdownOf({ select, body, source, set, isComplete, hasIdCondition: false });
    const rule = 'Leading Index Key Missing.';
    const base = { keys, flavors: [], includesMissing: true, rule, property: undefined };
    const addedKeys = keysToCover({
      source,
      expressions: uses.expressions,
      indexKeys: keys,
      elementSlots: new Set(),
    });
    const property = pushdown.property;
    const pushedKeys = distinct([...pushdown.keys, ...pushdown.last, ...keys]);
    if (!addedKeys || !isComplete || addedKeys.length > 0) {
      const isPushed = property !== undefined && !pushdown.needsCovering;
      const pushed = { ...base, keys: pushdown.keys, property };
      return { ...common, plain: isPushed ? [pushed, base] : [base], covering: undefined };
    }
    return { ...common, plain: [base], covering: { ...base, keys: pushedKeys, property } };
  }

  /** For a keyspace on the left side of joins: an index whose keys are in their conditions. */
  #joinAdvice(
    common: Omit<Advice, 'plain' | 'covering'>,
    source: Source,
    term: TermContext,
  ): Advice | undefined {
    const origin = documentOrigin(source, () => false);
    const keys = term.joined
      .map((each) => keyUseOf(each, origin))
      .filter((each) => each !== undefined && each.rank === ranks.join)
      .map((each) => ({ ...(each as KeyUse), rank: ranks.derived }));
    if (keys.length === 0) return undefined;
    const set = { keys: distinct(keys), flavors: [], shared: 0 };
    const base = baseIndex(set);
    const { expressions } = term.uses;
    const addedKeys = keysToCover({ source, expressions, indexKeys: keys, elementSlots: new Set() });
    const covering = addedKeys && { ...base, keys: [...set.keys, ...addedKeys] };
    return { ...common, plain: [base], covering, isDerived: true };
  }
}

/** The index whose keys only find documents: pushdowns reorder and extend the keys, and a covering index has more. */
function baseIndex(set: KeySet): AdvisedIndex {
  const { keys, flavors } = set;
  return { keys, flavors, includesMissing: false, rule: ruleOf(set), property: undefined };
}

function readsId(condition: Expression, { idSlot }: Source): boolean {
  return idSlot !== undefined && readsAny(condition, new Set([idSlot]));
}

/** A text that is equal for equal keys in equal order. */
function textsOf(keys: readonly KeyUse[]): string {
  return keys.map(({ text, isDescending }) => `${text}${isDescending === true ? ' DESC' : ''}`).join(',');
}

/** Each key once, by its text. */
function distinct(keys: readonly KeyUse[]): KeyUse[] {
  const byText = new Map<string, KeyUse>();
  for (const key of keys) if (!byText.has(key.text)) byText.set(key.text, key);
  return [...byText.values()];
}

/** The FROM term before a chain of UNNEST. */
function rootOf(from: LogicalFrom | undefined): LogicalFrom | undefined {
  return from?.kind === 'unnest' ? rootOf(from.left) : from;
}

function readsOneSource(condition: Expression, { sources }: LogicalSubselect): boolean {
  return sources.filter((source) => readsAny(condition, sourceSlots(source))).length === 1;
}
