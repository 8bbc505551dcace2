// Maps predicates to index keys, and orders keys by the kind of their predicates.
import type { Expression } from '../tree/query.ts';

export interface KeyUse {
  /** The key in the syntax of CREATE INDEX; equal for equal keys. */
  readonly text: string;
  /** The key's part of the index's name. */
  readonly name: string;
  /** One of `ranks`: keys of lower ranks come first in the index. */
  readonly rank: number;
  /** IS MISSING: such a key cannot lead, unless the test itself is the key. */
  readonly isMissing: boolean;
  /** `field = 'kind'`: the condition of a partial index. */
  readonly flavor: string | undefined;
  readonly isDescending?: boolean;
  /** False: the key only makes the index cover or order. */
  readonly isUsed?: boolean;
  /** For array keys: other expressions of the row that the entry provides. */
  readonly provides?: (node: Expression) => boolean;
}

/** The keys of one index. */
export interface KeySet {
  readonly keys: readonly KeyUse[];
  /** The uses whose `flavor` is the condition of a partial index. */
  readonly flavors: readonly KeyUse[];
  /** How many leading keys all disjuncts of a disjunction share; 0 without a disjunction. */
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

/** One index, or for OR without a shared key one for each disjunct; undefined: no index serves the condition. */
export function keySetsOf(disjuncts: readonly (readonly KeyUse[])[]): KeySet[] | undefined {
  if (disjuncts.length === 0 || disjuncts.some((disjunct) => disjunct.length === 0)) return undefined;
  const [only] = disjuncts;
  if (disjuncts.length === 1 && only) return [plainSet(only)];
  const common = sharedSet(disjuncts);
  if (common) return [common];
  return groupsOf(disjuncts).map((group) => sharedSet(group) ?? plainSet(group[0] as readonly KeyUse[]));
}

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

/** Keys that all disjuncts have come first, if one of them can lead. */
function sharedSet(disjuncts: readonly (readonly KeyUse[])[]): KeySet | undefined {
  if (disjuncts.length === 1) return undefined;
  const all = disjuncts.flat();
  const inAll = merged(all).filter((key) =>
    disjuncts.every((disjunct) => disjunct.some(({ text }) => text === key.text)),
  );
  const canLead = (key: KeyUse): boolean => all.every((use) => use.text !== key.text || !use.isMissing);
  if (!inAll.some(canLead)) return undefined;
  const plain = inAll.filter((key) => key.flavor === undefined);
  const isPartial = plain.some(canLead);
  const flavors = isPartial ? inAll.filter((key) => key.flavor !== undefined) : [];
  const shared = (isPartial ? plain : inAll).toSorted(
    (a, b) => Number(a.isMissing) - Number(b.isMissing) || a.rank - b.rank,
  );
  const rest = merged(all).filter(({ text }) => inAll.every((key) => key.text !== text));
  return { keys: [...shared, ...sorted(rest)], flavors, shared: shared.length };
}

function groupsOf(disjuncts: readonly (readonly KeyUse[])[]): (readonly KeyUse[])[][] {
  const groups: (readonly KeyUse[])[][] = [];
  for (const disjunct of disjuncts) {
    const group = groups.find((each) => sharedSet([...each, disjunct]));
    if (group) group.push(disjunct);
    else groups.push([disjunct]);
  }
  return groups;
}

/** Removes duplicate keys; each keeps the best of its predicates. A key that also has another predicate than `field = 'kind'` loses its `flavor`. */
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

const disjunctsMax = 32;

/** Converts to disjunctive normal form. An OR that would make too many disjuncts is not expanded. */
export function disjunctsOf(condition: Expression): Expression[][] {
  if (condition.kind === 'logical' && condition.operator === 'or') {
    const disjuncts = condition.operands.flatMap(disjunctsOf);
    return disjuncts.length <= disjunctsMax ? disjuncts : [[condition]];
  }
  if (condition.kind === 'logical') return combinedDisjuncts(condition.operands);
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

export function combinedDisjuncts(conditions: readonly Expression[]): Expression[][] {
  let disjuncts: Expression[][] = [[]];
  for (const condition of conditions) {
    const more = disjunctsOf(condition);
    if (disjuncts.length * more.length <= disjunctsMax)
      disjuncts = disjuncts.flatMap((disjunct) => more.map((each) => [...disjunct, ...each]));
    else disjuncts = disjuncts.map((disjunct) => [...disjunct, condition]);
  }
  return disjuncts;
}
