// What compiled expressions are, and what compiling parts of them needs.
import type { EvaluationContext } from '../functions/context.ts';
import type { Expression } from '../tree/query.ts';
import type { Value } from '../values/value.ts';

/** A result may be JSON text that nobody parsed (`RawJson`). */
export type Evaluate = (row: readonly Value[], context: EvaluationContext) => Value;

/**
 * Of ANY, EVERY and comprehensions. Evaluation is synchronous, so that one place for each will do; whoever sets it puts back what it
 * held, for functions that call themselves.
 */
export interface Variable {
  value: Value;
}

export interface Compiling {
  compile(expression: Expression): Evaluate;
  list(expressions: readonly Expression[]): Evaluate[];
  /** The result is parsed: it can be compared and computed with. */
  parsed(expression: Expression): Evaluate;
  /** The result is parsed, and everything within it. */
  whole(expression: Expression): Evaluate;
  /** With more variables in scope. */
  inner(variables: ReadonlyMap<string, Variable>): Compiling;
}

export function evaluateAll(
  list: readonly Evaluate[],
  row: readonly Value[],
  context: EvaluationContext,
): Value[] {
  const values: Value[] = new Array(list.length);
  for (let at = 0; at < list.length; at++) values[at] = (list[at] as Evaluate)(row, context);
  return values;
}
