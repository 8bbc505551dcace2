// Computes ranges of an array index's key from ANY … SATISFIES, IN and WITHIN over the same array.
import type { AllKeys, Comprehension, Expression, Quantified, RangeBinding } from '../tree/query.ts';
import { conjunctsOf } from './conjuncts.ts';
import { sameExpression } from './expression-key.ts';
import { type Sarg, type SargContext, sargOf, sargOfAll } from './sarg.ts';
import { mapChildren } from './walk.ts';

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
  const element: Expression = { kind: 'identifier', name: '', ignoresCase: false, at: -1 };
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

function elementsOf(of: Expression): { of: Expression; isDeep: boolean } | undefined {
  if (of.kind !== 'comprehension') return { of, isDeep: false };
  const [binding] = of.bindings;
  if (of.bindings.length !== 1 || !binding || of.when || of.result !== 'array') return undefined;
  if (of.value.kind !== 'identifier' || of.value.name !== binding.name) return undefined;
  return { of: binding.of, isDeep: binding.isDeep };
}

function anyOf(key: AllKeys, predicate: Quantified, context: SargContext): Sarg | undefined {
  // `FIRST … FOR … END` is one value: the key has the items of that value, not an item for each item of the range.
  if (key.of.kind !== 'comprehension' || key.of.result !== 'array') {
    const [binding] = predicate.bindings;
    if (predicate.bindings.length !== 1 || !binding || binding.isDeep) return undefined;
    if (!sameExpression(binding.of, key.of)) return undefined;
    const element: Expression = { kind: 'identifier', name: binding.name, ignoresCase: false, at: -1 };
    return conjoined(element, conjunctsOf(predicate.satisfies), context);
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

function sameRanges(key: Comprehension, predicate: Quantified): boolean {
  if (key.bindings.length !== predicate.bindings.length) return false;
  return key.bindings.every((binding, at) => {
    const other = predicate.bindings[at];
    return other !== undefined && binding.isDeep === other.isDeep && sameExpression(binding.of, other.of);
  });
}

/** Renames the variables of one range to those of another, so that their expressions can be compared. */
function renameRange(
  node: Expression,
  from: readonly RangeBinding[],
  to: readonly RangeBinding[],
): Expression {
  const names = new Map<string, string>();
  from.forEach((binding, at) => {
    const other = to[at];
    if (other) names.set(binding.name, other.name);
    if (other?.position !== undefined && binding.position !== undefined)
      names.set(binding.position, other.position);
  });
  const rename = (part: Expression): Expression => {
    if (part.kind === 'identifier') {
      const name = names.get(part.name);
      return name === undefined ? part : { ...part, name };
    }
    return mapChildren(part, rename);
  };
  return rename(node);
}
