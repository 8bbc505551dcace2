// Computes ranges of an array index's key from ANY … SATISFIES, IN and WITHIN over the same array.
import type { AllKeys, Comprehension, Expression, Quantified } from '../tree/query.ts';
import { conjunctsOf } from './conjuncts.ts';
import { sameExpression } from './expression-key.ts';
import { intersect, renameRange, type Sarg, type SargContext, sargOf } from './sarg.ts';

export function arraySarg(key: Expression, predicate: Expression, context: SargContext): Sarg | undefined {
  if (key.kind !== 'all keys') return undefined;
  if (predicate.kind === 'logical' && predicate.operator === 'or') {
    const parts = predicate.operands.map((operand) => bestOf(key, conjunctsOf(operand), context));
    if (parts.some((part) => part === undefined)) return undefined;
    return { ranges: (parts as Sarg[]).flatMap((part) => part.ranges), isExact: false };
  }
  if (predicate.kind === 'membership' && !predicate.isNegated) return inArray(key, predicate, context);
  if (predicate.kind !== 'quantified' || predicate.quantifier === 'every') return undefined;
  return anyOf(key, predicate, context);
}

function bestOf(key: AllKeys, conjuncts: readonly Expression[], context: SargContext): Sarg | undefined {
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
  if (key.of.kind !== 'comprehension') {
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
  for (const conjunct of conjuncts) {
    const sarg = arraySarg(key.of.value, conjunct, context);
    if (sarg) return sarg;
  }
  return undefined;
}

/** All conjuncts apply to the same element. */
function conjoined(
  key: Expression,
  conjuncts: readonly Expression[],
  context: SargContext,
): Sarg | undefined {
  let merged: Sarg | undefined;
  for (const conjunct of conjuncts) {
    const sarg = sargOf(key, conjunct, context);
    if (sarg) merged = merged ? intersect(merged, sarg) : sarg;
  }
  return merged && { ...merged, isExact: false };
}

function sameRanges(key: Comprehension, predicate: Quantified): boolean {
  if (key.bindings.length !== predicate.bindings.length) return false;
  return key.bindings.every((binding, at) => {
    const other = predicate.bindings[at];
    return other !== undefined && binding.isDeep === other.isDeep && sameExpression(binding.of, other.of);
  });
}
