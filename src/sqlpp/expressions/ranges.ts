// ANY, EVERY and comprehensions. Several bindings iterate in parallel, up to the end of the shortest.
import { itemsOfValue } from '../functions/array-star.ts';
import type { EvaluationContext } from '../functions/context.ts';
import type { Comprehension, Quantified, RangeBinding } from '../tree/query.ts';
import { resolveDeep } from '../values/json-parse.ts';
import { countSteps, listedSteps, roundSteps } from '../values/step-limit.ts';
import { isTrue } from '../values/types.ts';
import { newObject, type Value } from '../values/value.ts';
import type { Evaluate, ExpressionCompiler, Variable } from './evaluate.ts';
import { descendants, isComposite, sortedMembers } from './navigation.ts';

/** The values that a binding iterates over, and for a position variable the positions or names. */
interface Range {
  readonly values: readonly Value[];
  readonly positions: readonly Value[] | undefined;
}

interface CompiledRange {
  readonly of: Evaluate;
  /** WITHIN: includes nested values. */
  readonly isDeep: boolean;
  readonly value: Variable;
  readonly position: Variable | undefined;
}

class Ranges {
  private readonly list: readonly CompiledRange[];
  /** The compiler for expressions that see the variables. */
  readonly inner: ExpressionCompiler;

  constructor(bindings: readonly RangeBinding[], compiler: ExpressionCompiler) {
    const variables = new Map<string, Variable>();
    const variable = (name: string): Variable => {
      const bound: Variable = { value: undefined };
      variables.set(name, bound);
      return bound;
    };
    this.list = bindings.map(({ name, position, of, isDeep }) => ({
      of: compiler.compile(of),
      isDeep,
      position: position === undefined ? undefined : variable(position),
      value: variable(name),
    }));
    this.inner = compiler.inner(variables);
  }

  /** The ranges of a row; NULL or MISSING if one of them is not an array or object. */
  of(row: readonly Value[], context: EvaluationContext): readonly Range[] | null | undefined {
    const ranges: Range[] = [];
    let isNull = false;
    for (const compiled of this.list) {
      const value = compiled.of(row, context);
      if (value === undefined) return undefined;
      const range = rangeOf(value, compiled);
      if (range === undefined) isNull = true;
      else ranges.push(range);
    }
    return isNull ? null : ranges;
  }

  /**
   * Sets the variables to each element in turn and calls `visit`, until that returns true. Then restores their previous values, except after an error:
   * the error ends the evaluation of the row, or a loop around this one sets its variables anew.
   */
  visit(ranges: readonly Range[], context: EvaluationContext, visit: () => boolean): void {
    const before = this.list.map(({ value, position }) => [value.value, position?.value] as const);
    const length = Math.min(...ranges.map(({ values }) => values.length));
    let failed = false;
    let failure: unknown;
    for (let at = 0; at < length; at++) {
      countSteps(roundSteps);
      for (let which = 0; which < ranges.length; which++) {
        const { value, position } = this.list[which] as CompiledRange;
        const range = ranges[which] as Range;
        value.value = range.values[at];
        if (position !== undefined) position.value = range.positions?.[at];
      }
      try {
        if (visit()) break;
      } catch (error) {
        if (!failed) failure = error;
        failed = true;
        if (context.continuesAfter?.(error) !== true) break;
      }
    }
    if (failed) throw failure;
    this.list.forEach(({ value, position }, which) => {
      [value.value] = before[which] as readonly [Value, Value];
      if (position !== undefined) position.value = before[which]?.[1];
    });
  }
}

function rangeOf(value: Value, { isDeep, position }: CompiledRange): Range | undefined {
  if (position !== undefined) {
    const pairs = isDeep ? descendantPairs(value) : pairsOf(value);
    return pairs && { values: pairs.map(([, item]) => item), positions: pairs.map(([at]) => at) };
  }
  const values = isDeep ? descendants(value) : itemsOfValue(value);
  return values && { values, positions: undefined };
}

type Pair = readonly [position: Value, value: Value];

function pairsOf(value: Value): readonly Pair[] | undefined {
  const items = itemsOfValue(value);
  if (items !== undefined) return items.map((item, at): Pair => [at, item]);
  return isComposite(value) ? sortedMembers(value) : undefined;
}

function descendantPairs(value: Value): readonly Pair[] | undefined {
  const pairs = pairsOf(value);
  countSteps(listedSteps * (pairs?.length ?? 0));
  return pairs?.flatMap((pair): readonly Pair[] => [pair, ...(descendantPairs(pair[1]) ?? [])]);
}

export function compileQuantified(node: Quantified, compiler: ExpressionCompiler): Evaluate {
  const ranges = new Ranges(node.bindings, compiler);
  const satisfies = ranges.inner.compileParsed(node.satisfies);
  const { quantifier } = node;
  const stopsAt = quantifier === 'any';
  return (row, context) => {
    const found = ranges.of(row, context);
    if (found === null || found === undefined) return found;
    if (quantifier === 'any and every' && found.some(({ values }) => values.length === 0)) return false;
    let isStopped = false;
    ranges.visit(found, context, () => {
      isStopped = isTrue(satisfies(row, context)) === stopsAt;
      return isStopped;
    });
    return isStopped === stopsAt;
  };
}

export function compileComprehension(node: Comprehension, compiler: ExpressionCompiler): Evaluate {
  const ranges = new Ranges(node.bindings, compiler);
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

function arrayOf(ranges: Ranges, value: Evaluate, isWanted: IsWanted): Evaluate {
  return (row, context) => {
    const found = ranges.of(row, context);
    if (found === null || found === undefined) return found;
    const items: Value[] = [];
    ranges.visit(found, context, () => {
      if (!isWanted(row, context)) return false;
      const item = resolveDeep(value(row, context));
      if (item !== undefined) items.push(item);
      return false;
    });
    return items;
  };
}

function firstOf(ranges: Ranges, value: Evaluate, isWanted: IsWanted): Evaluate {
  return (row, context) => {
    const found = ranges.of(row, context);
    if (found === null || found === undefined) return found;
    let first: Value;
    ranges.visit(found, context, () => {
      if (!isWanted(row, context)) return false;
      first = value(row, context);
      return true;
    });
    return first;
  };
}

/** A MISSING name gives MISSING, any other name that is not a string NULL. */
function objectOf(ranges: Ranges, name: Evaluate, value: Evaluate, isWanted: IsWanted): Evaluate {
  return (row, context) => {
    const found = ranges.of(row, context);
    if (found === null || found === undefined) return found;
    let result: Record<string, Value> | null | undefined = newObject();
    ranges.visit(found, context, () => {
      if (!isWanted(row, context)) return false;
      const text = name(row, context);
      if (typeof text !== 'string') {
        result = text === undefined ? undefined : null;
        return true;
      }
      const member = resolveDeep(value(row, context));
      if (member !== undefined && result !== null && result !== undefined) result[text] = member;
      return false;
    });
    return result;
  };
}
