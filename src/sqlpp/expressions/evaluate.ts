// The types of compiled expressions and of their compiler.
import type { EvaluationContext } from '../functions/context.ts';
import type { Expression } from '../tree/expression.ts';
import type { Value } from '../values/value.ts';

/** A compiled expression. Its result may be unparsed JSON text (`RawJson`). */
export type Evaluate = (row: readonly Value[], context: EvaluationContext) => Value;

/**
 * A variable of ANY, EVERY or a comprehension. Since evaluation is synchronous, one object holds its value; the code that sets it restores
 * the previous value, for recursive functions.
 */
export interface Variable {
  value: Value;
}

export interface ExpressionCompiler {
  compile(expression: Expression): Evaluate;
  compileAll(expressions: readonly Expression[]): Evaluate[];
  /** Compiles to a parsed result, which can be compared and computed with. */
  compileParsed(expression: Expression): Evaluate;
  /** Compiles to a result that is parsed completely, with all nested values. */
  compileDeepParsed(expression: Expression): Evaluate;
  /** A compiler with more variables in scope. */
  inner(variables: ReadonlyMap<string, Variable>): ExpressionCompiler;
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
