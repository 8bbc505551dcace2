// Computes ranges of an array index's key from ANY … SATISFIES, IN and WITHIN over the same array.

import type { AllKeys, Comprehension, Expression, Quantified, RangeBinding } from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';
import { conjunctsOf } from './conjuncts.ts';
import { sameExpression } from './expression-key.ts';
import { type Sarg, type SargContext, sargOfAll } from './sarg.ts';
import { hasOnlyPoints, includesMissing } from './spans.ts';
import { mapChildren, mapRange, variablesOf, visit } from './walk.ts';

/** The ranges of the keys of one array key, several with FLATTEN_KEYS: all are those of one element. undefined: of a key that is not restricted. */
export type ElementSargs = readonly (Sarg | undefined)[];

const unrestricted = (keys: readonly Expression[]): ElementSargs => keys.map(() => undefined);

/** The candidate that restricts the most keys from the first on; of several that with the most keys of single values, then the most restricted keys. */
export function bestOf(keys: readonly Expression[], candidates: readonly ElementSargs[]): ElementSargs {
  return candidates.reduce((best, each) => (scoreOf(each) > scoreOf(best) ? each : best), unrestricted(keys));
}

function scoreOf(sargs: ElementSargs): number {
  const gap = sargs.findIndex((sarg) => !sarg);
  const leading = sargs.slice(0, gap < 0 ? sargs.length : gap) as Sarg[];
  const points = leading.filter((sarg) => sarg.ranges.every(hasOnlyPoints)).length;
  const restricted = sargs.filter((sarg) => sarg !== undefined).length;
  const base = sargs.length + 1;
  return (leading.length * base + points) * base + restricted;
}

/** The ranges of an array key's elements that one predicate allows. `keys`: the expressions of its keys, which differ only in the value. */
export function arraySargs(
  keys: readonly Expression[],
  predicate: Expression,
  context: SargContext,
): ElementSargs {
  if (predicate.kind === 'logical' && predicate.operator === 'or') {
    const sides = predicate.operands.map((operand) => ofOneConjunct(keys, conjunctsOf(operand), context));
    return keys.map((_key, at) => unionOf(sides.map((side) => side[at])));
  }
  if (predicate.kind === 'membership' && !predicate.isNegated)
    return keys.map((key) => inArray(key, predicate, context));
  if (predicate.kind !== 'quantified' || predicate.quantifier === 'every') return unrestricted(keys);
  return anyOf(keys, predicate, context);
}

/** The ranges of one of the conjuncts: another one may be true for another element. */
function ofOneConjunct(
  keys: readonly Expression[],
  conjuncts: readonly Expression[],
  context: SargContext,
): ElementSargs {
  return bestOf(
    keys,
    conjuncts.map((conjunct) => arraySargs(keys, conjunct, context)),
  );
}

function unionOf(sargs: ElementSargs): Sarg | undefined {
  const ranges = sargs.map((sarg) => sarg?.ranges);
  return ranges.some((each) => each === undefined)
    ? undefined
    : { ranges: (ranges as Sarg['ranges'][]).flat(), isExact: false };
}

/** `value IN array` if the key has the array's elements unchanged. */
function inArray(
  key: Expression,
  predicate: Extract<Expression, { kind: 'membership' }>,
  context: SargContext,
): Sarg | undefined {
  const elements = key.kind === 'all keys' ? elementsOf(key.of) : undefined;
  if (!elements || !sameExpression(elements.of, predicate.list)) return undefined;
  if (predicate.operator === 'within' && !elements.isDeep) return undefined;
  // The elements have no variable, and no name is empty.
  const element = identifierOf('');
  const equality: Expression = {
    kind: 'comparison',
    operator: '=',
    left: element,
    right: predicate.of,
    at: predicate.at,
  };
  return ofElement(element, [equality], context);
}

/** The array whose elements are the items of the key unchanged; undefined if the key has values that are computed from them. */
function elementsOf(array: Expression): { of: Expression; isDeep: boolean } | undefined {
  if (array.kind !== 'comprehension') return { of: array, isDeep: false };
  const [binding] = array.bindings;
  if (array.bindings.length !== 1 || !binding || array.when || array.result !== 'array') return undefined;
  if (array.value.kind !== 'identifier' || array.value.name !== binding.name) return undefined;
  return { of: binding.of, isDeep: binding.isDeep };
}

/** `ANY variable IN array SATISFIES …`, where the keys are of the same array. */
function anyOf(keys: readonly Expression[], predicate: Quantified, context: SargContext): ElementSargs {
  const arrays = keys.map((key) => (key as AllKeys).of);
  const none = unrestricted(keys);
  const [first] = arrays;
  // `FIRST … FOR … END` is one value: the key has the items of that value, not an item for each item of the range.
  if (first?.kind !== 'comprehension' || first.result !== 'array') {
    const [binding] = predicate.bindings;
    if (predicate.bindings.length !== 1 || !binding || binding.isDeep) return none;
    if (!first || !sameExpression(binding.of, first)) return none;
    return [ofElement(identifierOf(binding.name), conjunctsOf(predicate.satisfies), context)];
  }
  if (!sameRanges(first, predicate)) return none;
  const satisfies = renameRange(predicate.satisfies, predicate.bindings, first.bindings);
  const conjuncts = conjunctsOf(satisfies);
  const { when } = first;
  if (when && !conjunctsOf(when).every((each) => conjuncts.some((other) => sameExpression(each, other))))
    return none;
  const values = arrays.map((array) => (array as Comprehension).value);
  if (first.value.kind === 'all keys') return ofOneConjunct(values, conjuncts, context);
  return values.map((value) => ofElement(value, conjuncts, context));
}

/** The ranges that the conjuncts, all of which apply to the same element, allow together; without MISSING, which an array key does not have. */
export function ofElement(
  key: Expression,
  conjuncts: readonly Expression[],
  context: SargContext,
): Sarg | undefined {
  const sarg = sargOfAll(key, conjuncts, context);
  return sarg && !sarg.ranges.some(includesMissing) ? { ...sarg, isExact: false } : undefined;
}

/** Whether the variables of both have the same values. */
function sameRanges(key: Comprehension, predicate: Quantified): boolean {
  if (key.bindings.length !== predicate.bindings.length) return false;
  return key.bindings.every((binding, at) => {
    const other = predicate.bindings[at];
    return other !== undefined && binding.isDeep === other.isDeep && sameExpression(binding.of, other.of);
  });
}

/** The expression with the variables of one range renamed to those of another, so that the expressions can be compared. */
function renameRange(
  node: Expression,
  from: readonly RangeBinding[],
  to: readonly RangeBinding[],
): Expression {
  const taken = new Set(to.flatMap(variablesOf));
  const unused = unusedNames(node, taken);
  const names = new Map<string, string>();
  from.forEach(({ name, position }, at) => {
    const other = to[at] as RangeBinding;
    names.set(name, other.name);
    if (position !== undefined) names.set(position, other.position ?? unused(position));
  });
  return renamed(node, names, (name) => (taken.has(name) ? unused(name) : name));
}

/** Replaces names by `names`; a variable of a range within the expression is renamed by `nameOf`. */
function renamed(
  node: Expression,
  names: ReadonlyMap<string, string>,
  nameOf: (variable: string) => string,
): Expression {
  if (node.kind === 'identifier') return { ...node, name: names.get(node.name) ?? node.name };
  if (node.kind !== 'quantified' && node.kind !== 'comprehension')
    return mapChildren(node, (child) => renamed(child, names, nameOf));
  const inner = new Map(names);
  for (const variable of node.bindings.flatMap(variablesOf)) inner.set(variable, nameOf(variable));
  const bindings = node.bindings.map((binding) => ({
    ...binding,
    name: inner.get(binding.name) as string,
    position: binding.position === undefined ? undefined : inner.get(binding.position),
  }));
  return mapRange(
    { ...node, bindings },
    (array) => renamed(array, names, nameOf),
    (child) => renamed(child, inner, nameOf),
  );
}

/** Makes names that neither the expression nor `taken` has, and each of them once. */
function unusedNames(node: Expression, taken: ReadonlySet<string>): (name: string) => string {
  const used = new Set(taken);
  visit(node, (part) => {
    if (part.kind === 'identifier') used.add(part.name);
    if (part.kind === 'quantified' || part.kind === 'comprehension')
      for (const variable of part.bindings.flatMap(variablesOf)) used.add(variable);
  });
  return (name) => {
    let unused = name;
    while (used.has(unused)) unused += "'";
    used.add(unused);
    return unused;
  };
}
