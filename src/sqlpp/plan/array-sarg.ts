// Computes ranges of an array index's key from ANY … SATISFIES, IN and WITHIN over the same array.

import type { AllKeys, Comprehension, Expression, Quantified, RangeBinding } from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';
import { conjunctsOf } from './conjuncts.ts';
import { sameExpression } from './expression-key.ts';
import { type Sarg, type SargContext, sargOf, sargOfAll } from './sarg.ts';
import { mapChildren, mapRange, variablesOf, visit } from './walk.ts';

/** The ranges of an array key's elements that one predicate allows; undefined if it is not about the array. */
export function arraySarg(key: Expression, predicate: Expression, context: SargContext): Sarg | undefined {
  if (key.kind !== 'all keys') return undefined;
  if (predicate.kind === 'logical' && predicate.operator === 'or') {
    const parts = predicate.operands.map((operand) => firstOf(key, conjunctsOf(operand), context));
    if (parts.some((part) => part === undefined)) return undefined;
    return { ranges: (parts as Sarg[]).flatMap((part) => part.ranges), isExact: false };
  }
  if (predicate.kind === 'membership' && !predicate.isNegated) return inArray(key, predicate, context);
  if (predicate.kind !== 'quantified' || predicate.quantifier === 'every') return undefined;
  return anyOf(key, predicate, context);
}

/** The ranges of the first conjunct that is about the array: others may hold for another element. */
function firstOf(key: AllKeys, conjuncts: readonly Expression[], context: SargContext): Sarg | undefined {
  for (const conjunct of conjuncts) {
    const sarg = arraySarg(key, conjunct, context);
    if (sarg) return sarg;
  }
  return undefined;
}

/** `value IN array` if the key has the array's elements unchanged. */
function inArray(
  key: AllKeys,
  predicate: Extract<Expression, { kind: 'membership' }>,
  context: SargContext,
): Sarg | undefined {
  const elements = elementsOf(key.of);
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
  const sarg = sargOf(element, equality, context);
  return sarg && { ...sarg, isExact: false };
}

/** The array whose elements are the items of the key unchanged; undefined if the key has values that are computed from them. */
function elementsOf(array: Expression): { of: Expression; isDeep: boolean } | undefined {
  if (array.kind !== 'comprehension') return { of: array, isDeep: false };
  const [binding] = array.bindings;
  if (array.bindings.length !== 1 || !binding || array.when || array.result !== 'array') return undefined;
  if (array.value.kind !== 'identifier' || array.value.name !== binding.name) return undefined;
  return { of: binding.of, isDeep: binding.isDeep };
}

/** `ANY variable IN array SATISFIES …`, where the key is of the same array. */
function anyOf(key: AllKeys, predicate: Quantified, context: SargContext): Sarg | undefined {
  // `FIRST … FOR … END` is one value: the key has the items of that value, not an item for each item of the range.
  if (key.of.kind !== 'comprehension' || key.of.result !== 'array') {
    const [binding] = predicate.bindings;
    if (predicate.bindings.length !== 1 || !binding || binding.isDeep) return undefined;
    if (!sameExpression(binding.of, key.of)) return undefined;
    return conjoined(identifierOf(binding.name), conjunctsOf(predicate.satisfies), context);
  }
  if (!sameRanges(key.of, predicate)) return undefined;
  const satisfies = renameRange(predicate.satisfies, predicate.bindings, key.of.bindings);
  const conjuncts = conjunctsOf(satisfies);
  const { when } = key.of;
  if (when && !conjunctsOf(when).every((each) => conjuncts.some((other) => sameExpression(each, other))))
    return undefined;
  if (key.of.value.kind !== 'all keys') return conjoined(key.of.value, conjuncts, context);
  return firstOf(key.of.value, conjuncts, context);
}

/** The ranges that the conjuncts, all of which apply to the same element, allow together. */
function conjoined(
  key: Expression,
  conjuncts: readonly Expression[],
  context: SargContext,
): Sarg | undefined {
  const sarg = sargOfAll(key, conjuncts, context);
  return sarg && { ...sarg, isExact: false };
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
