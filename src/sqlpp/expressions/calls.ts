// Compiles function calls: evaluates the arguments; the declaration decides how MISSING and NULL propagate.

import { sqlError } from '../errors/sql-error.ts';
import { functionNamed } from '../functions/catalog.ts';
import type { FunctionDeclaration, Implementation, Memo } from '../functions/declaration.ts';
import type { Call } from '../tree/expression.ts';
import { resolve } from '../values/json-parse.ts';
import { itemCount, skipSpace } from '../values/json-scan.ts';
import { countText } from '../values/step-limit.ts';
import { newObject, RawJson, type Value } from '../values/value.ts';
import { type Evaluate, type ExpressionCompiler, evaluateAll } from './evaluate.ts';
import { inSteps } from './paused-work.ts';

export function compileCall(node: Call, compiler: ExpressionCompiler): Evaluate {
  const declaration = functionNamed(node.name);
  if (declaration === undefined) throw sqlError(3000, `Invalid function ${node.name}`);
  const { reads } = declaration;
  const list = node.arguments.map((argument) =>
    reads === 'all'
      ? compiler.compileDeepParsed(argument)
      : withoutContents(compiler.compile(argument), reads),
  );
  if (declaration.isSpecial)
    return (row, context) => context.serviceCall(node, evaluateAll(list, row, context));
  const run = pausing(declaration);
  const memo: Memo = {};
  if (declaration.nulls === 'own')
    return (row, context) => run(counted(evaluateAll(list, row, context)), context, memo);
  const decide = declaration.nulls === 'propagate' ? propagated : onlyMissing;
  return (row, context) => {
    const values = counted(evaluateAll(list, row, context));
    const decided = decide(values);
    if (decided !== proceed) return decided;
    const result = run(values, context, memo);
    if (typeof result === 'string') countText(result.length);
    return result;
  };
}

/** The function; with long arguments it runs in steps, between which it may pause. */
function pausing({ run, steps }: FunctionDeclaration): Implementation {
  if (steps === undefined) return run;
  return (values, context, memo) => {
    const work = steps(values);
    return work === null ? run(values, context, memo) : inSteps(memo, context, () => work);
  };
}

/** Counts steps for long texts, and returns the values: ANY and ARRAY may call a function millions of times for a row. */
function counted(values: readonly Value[]): readonly Value[] {
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (typeof value === 'string') countText(value.length);
  }
  return values;
}

/**
 * Returns an empty object in place of an unparsed one, and in place of an unparsed array an empty one or, for functions that read the length, one
 * of the same length: parsing takes at least ten times as long.
 */
function withoutContents(evaluate: Evaluate, reads: 'length' | 'type'): Evaluate {
  return (row, context) => {
    const value = evaluate(row, context);
    if (!(value instanceof RawJson)) return value;
    const first = value.bytes[skipSpace(value.bytes, value.start, value.end)];
    if (first === 0x7b) return newObject();
    if (first === 0x5b) return new Array<Value>(reads === 'length' ? itemCount(value) : 0);
    return resolve(value);
  };
}

/** Returned when no MISSING or NULL argument decides the result. */
const proceed = Symbol('proceed');

function propagated(values: readonly Value[]): null | undefined | typeof proceed {
  let isNull = false;
  for (let at = 0; at < values.length; at++) {
    if (values[at] === undefined) return undefined;
    if (values[at] === null) isNull = true;
  }
  return isNull ? null : proceed;
}

function onlyMissing(values: readonly Value[]): undefined | typeof proceed {
  return values.includes(undefined) ? undefined : proceed;
}
