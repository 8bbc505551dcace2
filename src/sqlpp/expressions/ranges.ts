// Compiles ANY, EVERY and comprehensions.
import type { EvaluationContext } from '../functions/context.ts';
import type { Comprehension, Quantified } from '../tree/expression.ts';
import { resolveDeep } from '../values/json-parse.ts';
import { isTrue } from '../values/types.ts';
import { newObject, type Value } from '../values/value.ts';
import type { Evaluate, ExpressionCompiler } from './evaluate.ts';
import { type Loop, LoopRanges } from './loops.ts';

export function compileQuantified(node: Quantified, compiler: ExpressionCompiler): Evaluate {
  const ranges = new LoopRanges(node.bindings, compiler);
  const satisfies = ranges.inner.compileParsed(node.satisfies);
  const { quantifier } = node;
  const stopsAt = quantifier === 'any';
  const loop: Loop<{ isStopped: boolean }> = {
    begin: (found) => ({
      isStopped: quantifier === 'any and every' && found.some(({ values }) => values.length === 0),
    }),
    round(kept, row, context) {
      kept.isStopped = isTrue(satisfies(row, context)) === stopsAt;
      return kept.isStopped;
    },
    result: ({ isStopped }) => isStopped === stopsAt,
  };
  return (row, context) => ranges.run(loop, row, context);
}

export function compileComprehension(node: Comprehension, compiler: ExpressionCompiler): Evaluate {
  const ranges = new LoopRanges(node.bindings, compiler);
  const value = ranges.inner.compile(node.value);
  const when = node.when === undefined ? undefined : ranges.inner.compileParsed(node.when);
  const isWanted = (row: readonly Value[], context: EvaluationContext): boolean =>
    when === undefined || isTrue(when(row, context));
  switch (node.result) {
    case 'array':
      return arrayOf(ranges, value, isWanted);
    case 'first':
      return firstOf(ranges, value, isWanted);
    case 'object':
      if (node.name === undefined) throw new Error('OBJECT without a name');
      return objectOf(ranges, ranges.inner.compileParsed(node.name), value, isWanted);
  }
}

type IsWanted = (row: readonly Value[], context: EvaluationContext) => boolean;

function arrayOf(ranges: LoopRanges, value: Evaluate, isWanted: IsWanted): Evaluate {
  const loop: Loop<Value[]> = {
    begin: () => [],
    round(items, row, context) {
      if (!isWanted(row, context)) return false;
      const item = resolveDeep(value(row, context));
      if (item !== undefined) items.push(item);
      return false;
    },
    result: (items) => items,
  };
  return (row, context) => ranges.run(loop, row, context);
}

function firstOf(ranges: LoopRanges, value: Evaluate, isWanted: IsWanted): Evaluate {
  const loop: Loop<{ first: Value }> = {
    begin: () => ({ first: undefined }),
    round(kept, row, context) {
      if (!isWanted(row, context)) return false;
      kept.first = value(row, context);
      return true;
    },
    result: ({ first }) => first,
  };
  return (row, context) => ranges.run(loop, row, context);
}

/** A MISSING name gives MISSING, any other name that is not a string NULL. */
function objectOf(ranges: LoopRanges, name: Evaluate, value: Evaluate, isWanted: IsWanted): Evaluate {
  const loop: Loop<{ object: Record<string, Value> | null | undefined }> = {
    begin: () => ({ object: newObject() }),
    round(kept, row, context) {
      if (!isWanted(row, context)) return false;
      const text = name(row, context);
      if (typeof text !== 'string') {
        kept.object = text === undefined ? undefined : null;
        return true;
      }
      const member = resolveDeep(value(row, context));
      if (member !== undefined) (kept.object as Record<string, Value>)[text] = member;
      return false;
    },
    result: ({ object }) => object,
  };
  return (row, context) => ranges.run(loop, row, context);
}
