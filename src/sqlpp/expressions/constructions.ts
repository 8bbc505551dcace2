// Compiles object constructors and CASE.
import type { Case, ObjectConstruction } from '../tree/expression.ts';
import { equal } from '../values/comparison.ts';
import { isTrue } from '../values/types.ts';
import { newObject, setMember } from '../values/value.ts';
import type { Evaluate, ExpressionCompiler } from './evaluate.ts';

/** Omits members whose name is NULL or MISSING, or whose value is MISSING; any other name that is not a string gives NULL. */
export function compileObject(node: ObjectConstruction, compiler: ExpressionCompiler): Evaluate {
  const members = node.members.map(({ name, value }) => ({
    constant: name.kind === 'constant' && typeof name.value === 'string' ? name.value : undefined,
    name: compiler.compileParsed(name),
    value: compiler.compile(value),
  }));
  return (row, context) => {
    const object = newObject();
    for (const { constant, name, value } of members) {
      const text = constant ?? name(row, context);
      if (text === undefined || text === null) continue;
      if (typeof text !== 'string') return null;
      const member = value(row, context);
      if (member !== undefined) setMember(object, text, member);
    }
    return object;
  };
}

export function compileCase(node: Case, compiler: ExpressionCompiler): Evaluate {
  const whens = node.whens.map(({ when, result }) => ({
    when: compiler.compileParsed(when),
    result: compiler.compile(result),
  }));
  const otherwise = node.otherwise === undefined ? undefined : compiler.compile(node.otherwise);
  const operand = node.of === undefined ? undefined : compiler.compileParsed(node.of);
  return (row, context) => {
    const value = operand?.(row, context);
    for (const { when, result } of whens) {
      const found = when(row, context);
      if (operand === undefined ? isTrue(found) : equal(value, found) === true) return result(row, context);
    }
    return otherwise === undefined ? null : otherwise(row, context);
  };
}
