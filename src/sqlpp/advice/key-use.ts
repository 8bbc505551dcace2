// Keys of advised indexes: combines the keys that the predicates of AND and OR use, and orders keys by the kind of their predicates.
import type { Expression } from '../tree/expression.ts';

/** An index key, and how a predicate uses it. */
export interface KeyUse {
  /** The key in the syntax of CREATE INDEX; equal for equal keys. */
  readonly text: string;
  /** The key's part of the index's name. */
  readonly name: string;
  /** One of `ranks`: keys of lower ranks come first in the index. */
  readonly rank: number;
  /** The predicate is IS MISSING: an index lacks documents whose first key is MISSING, so that such a key cannot be the first one, unless the key is the test itself. */
  readonly isMissing: boolean;
  /** For a predicate `field = 'kind'` its text, which is the condition of a partial index. */
  readonly flavor: string | undefined;
  readonly isDescending?: boolean;
  /** False: no predicate uses the key, which is for covering or order only. */
  readonly isUsed?: boolean;
  /** For array keys: whether an index row also has the value of this expression. */
  readonly provides?: (node: Expression) => boolean;
}

/** The keys of one index. */
export interface KeySet {
  readonly keys: readonly KeyUse[];
  /** The uses whose `flavor` is the condition of a partial index. */
  readonly flavors: readonly KeyUse[];
  /** The number of leading keys that all operands of an OR use; 0 without an OR. */
  readonly shared: number;
}

/** The kinds of predicates. The numbers are shown to users, in the rule of a recommended index. */
export const ranks = {
  unnest: 1,
  equal: 2,
  in: 3,
  between: 4,
  less: 5,
  derived: 6,
  present: 7,
  like: 8,
  join: 9,
  flavor: 10,
} as const;

/** Published texts. */
const rankNames: Readonly<Record<number, string>> = {
  [ranks.unnest]: 'leading array index for unnest',
  [ranks.equal]: 'equality/null/missing',
  [ranks.in]: 'in',
  [ranks.between]: 'not less than/between/not greater than',
  [ranks.less]: 'less than/greater than',
  [ranks.derived]: 'derived join filter as leading key',
  [ranks.present]: 'not null/not missing/valued',
  [ranks.like]: 'like',
  [ranks.join]: 'non-static join predicate',
  [ranks.flavor]: 'flavor for partial index',
};

/** Why the keys have this order, in the published form. */
export function ruleOf({ keys, flavors, shared }: KeySet): string {
  const kinds = (uses: readonly KeyUse[]): string[] => [
    ...new Set(uses.map(({ rank }) => `${rank}. ${rankNames[rank]}`)),
  ];
  const first =
    shared > 0 ? [`1. Common leading key for disjunction (${kinds(keys.slice(0, shared)).join(', ')})`] : [];
  const rest = kinds(keys.slice(shared));
  const last = flavors.length > 0 ? [`${ranks.flavor}. ${rankNames[ranks.flavor]}`] : [];
  return `Index keys follow order of predicate types: ${[...first, ...rest, ...last].join(', ')}.`;
}

/** The keys of the indexes that serve a condition in disjunctive normal form: of one index, or for disjuncts without a shared key of several. Undefined: no index serves the condition. */
export function keySetsOf(disjuncts: readonly (readonly KeyUse[])[]): KeySet[] | undefined {
  if (disjuncts.length === 0 || disjuncts.some((disjunct) => disjunct.length === 0)) return undefined;
  const [only] = disjuncts;
  if (disjuncts.length === 1 && only) return [plainSet(only)];
  const common = sharedSet(disjuncts);
  if (common) return [common];
  return groupsOf(disjuncts).map((group) => sharedSet(group) ?? plainSet(group[0] as readonly KeyUse[]));
}

/** The keys for one disjunct. */
function plainSet(uses: readonly KeyUse[]): KeySet {
  const keys = merged(uses);
  const plain = keys.filter(({ flavor }) => flavor === undefined);
  const isPartial = plain.length > 0;
  return {
    keys: sorted(isPartial ? plain : keys),
    flavors: isPartial ? keys.filter(({ flavor }) => flavor !== undefined) : [],
    shared: 0,
  };
}

/** The keys of one index for all disjuncts: those that all of them use come first. Undefined if none of these can be the first key. */
function sharedSet(disjuncts: readonly (readonly KeyUse[])[]): KeySet | undefined {
  if (disjuncts.length === 1) return undefined;
  const all = disjuncts.flat();
  const inAll = merged(all).filter((key) =>
    disjuncts.every((disjunct) => disjunct.some(({ text }) => text === key.text)),
  );
  const canBeFirst = (key: KeyUse): boolean => all.every((use) => use.text !== key.text || !use.isMissing);
  if (!inAll.some(canBeFirst)) return undefined;
  const plain = inAll.filter((key) => key.flavor === undefined);
  const isPartial = plain.some(canBeFirst);
  const flavors = isPartial ? inAll.filter((key) => key.flavor !== undefined) : [];
  const shared = (isPartial ? plain : inAll).toSorted(
    (a, b) => Number(a.isMissing) - Number(b.isMissing) || a.rank - b.rank,
  );
  const rest = merged(all).filter(({ text }) => inAll.every((key) => key.text !== text));
  return { keys: [...shared, ...sorted(rest)], flavors, shared: shared.length };
}

/** Groups of disjuncts that one index can serve. */
function groupsOf(disjuncts: readonly (readonly KeyUse[])[]): (readonly KeyUse[])[][] {
  const groups: (readonly KeyUse[])[][] = [];
  for (const disjunct of disjuncts) {
    const group = groups.find((each) => sharedSet([...each, disjunct]));
    if (group) group.push(disjunct);
    else groups.push([disjunct]);
  }
  return groups;
}

/** Each key once, with the best of its predicates: any other before IS MISSING, then that of the lowest rank. A key that also has another predicate than `field = 'kind'` loses its `flavor`. */
function merged(uses: readonly KeyUse[]): KeyUse[] {
  const byText = new Map<string, KeyUse>();
  for (const use of uses) {
    const before = byText.get(use.text);
    const isBetter =
      !before ||
      (before.isMissing && !use.isMissing) ||
      (before.isMissing === use.isMissing && use.rank < before.rank);
    if (isBetter)
      byText.set(use.text, before?.flavor === undefined && before ? { ...use, flavor: undefined } : use);
    else if (use.flavor === undefined && before) byText.set(use.text, { ...before, flavor: undefined });
  }
  return [...byText.values()];
}

function sorted(uses: readonly KeyUse[]): KeyUse[] {
  return uses.toSorted((a, b) => a.rank - b.rank || Number(a.isMissing) - Number(b.isMissing));
}

/** The most disjuncts of a normal form. An OR that would make more is not expanded. */
const disjunctsMax = 32;

/** The disjunctive normal form of the condition: a list of disjuncts, each of them a list of conjuncts. */
export function normalForm(condition: Expression): Expression[][] {
  if (condition.kind === 'logical' && condition.operator === 'or') {
    const disjuncts = condition.operands.flatMap(normalForm);
    return disjuncts.length <= disjunctsMax ? disjuncts : [[condition]];
  }
  if (condition.kind === 'logical') return normalFormOfAll(condition.operands);
  if (condition.kind === 'comparison' && condition.operator === '!=')
    return [[{ ...condition, operator: '<' }], [{ ...condition, operator: '>' }]];
  if (condition.kind === 'between' && condition.isNegated) {
    const { of, low, high, at } = condition;
    return [
      [{ kind: 'comparison', operator: '<', left: of, right: low, at }],
      [{ kind: 'comparison', operator: '>', left: of, right: high, at }],
    ];
  }
  return [[condition]];
}

/** The disjunctive normal form of all conditions together. */
export function normalFormOfAll(conditions: readonly Expression[]): Expression[][] {
  let disjuncts: Expression[][] = [[]];
  for (const condition of conditions) {
    const more = normalForm(condition);
    if (disjuncts.length * more.length <= disjunctsMax)
      disjuncts = disjuncts.flatMap((disjunct) => more.map((each) => [...disjunct, ...each]));
    else disjuncts = disjuncts.map((disjunct) => [...disjunct, condition]);
  }
  return disjuncts;
}
