// Compiles expressions to closures. Names are resolved before: aliases and fields are slots of the row, remaining identifiers are variables
// of ANY, EVERY and comprehensions around them. A result may be unparsed JSON text (`RawJson`), which `resolve` parses.
import { type SqlError, sqlError } from '../errors/sql-error.ts';
import type { EvaluationContext } from '../functions/context.ts';
import { formatExpression } from '../text/format.ts';
import type { Expression, Subquery } from '../tree/expression.ts';
import { resolve, resolveDeep } from '../values/json-parse.ts';
import type { Value } from '../values/value.ts';
import { compileCall } from './calls.ts';
import { compileCase, compileObject } from './constructions.ts';
import { type Evaluate, type ExpressionCompiler, evaluateAll, type Variable } from './evaluate.ts';
import { compileArrayStar, compileElement, compileField, compileSlice } from './navigation.ts';
import {
  compileArithmetic,
  compileBetween,
  compileComparison,
  compileConcatenation,
  compileIs,
  compileLike,
  compileLogical,
  compileMembership,
  compileNegation,
  compileNot,
} from './operators.ts';
import { compileComprehension, compileQuantified } from './ranges.ts';

export type { Evaluate } from './evaluate.ts';

export function compile(expression: Expression): Evaluate {
  return new Compiler(new Map()).compile(expression);
}

class Compiler implements ExpressionCompiler {
  private readonly variables: ReadonlyMap<string, Variable>;

  constructor(variables: ReadonlyMap<string, Variable>) {
    this.variables = variables;
  }

  /** A compiler with more variables in scope. */
  inner(variables: ReadonlyMap<string, Variable>): Compiler {
    return new Compiler(new Map([...this.variables, ...variables]));
  }

  compileAll(expressions: readonly Expression[]): Evaluate[] {
    return expressions.map((expression) => this.compile(expression));
  }

  /** Compiles to a parsed result, which can be compared and computed with. */
  compileParsed(expression: Expression): Evaluate {
    const evaluate = this.compile(expression);
    if (!mayBeText(expression)) return evaluate;
    return (row, context) => resolve(evaluate(row, context));
  }

  /** Compiles to a result that is parsed completely, with all nested values. */
  compileDeepParsed(expression: Expression): Evaluate {
    const evaluate = this.compile(expression);
    if (!mayBeText(expression)) return evaluate;
    return (row, context) => resolveDeep(evaluate(row, context));
  }

  compile(node: Expression): Evaluate {
    switch (node.kind) {
      case 'constant': {
        const { value } = node;
        return () => value;
      }
      case 'slot': {
        const { slot } = node;
        return (row) => row[slot];
      }
      case 'identifier':
        return this.variable(node.name);
      case 'named parameter': {
        const { name } = node;
        return (_, context) => namedParameter(context, name);
      }
      case 'positional parameter': {
        const { position } = node;
        return (_, context) => positionalParameter(context, position);
      }
      case 'field':
        return compileField(node, this);
      case 'element':
        return compileElement(node, this);
      case 'slice':
        return compileSlice(node, this);
      case 'array star':
        return compileArrayStar(node, this);
      case 'negation':
        return compileNegation(node, this);
      case 'not':
        return compileNot(node, this);
      case 'exists':
        return this.exists(node.of);
      case 'arithmetic':
        return compileArithmetic(node, this);
      case 'concatenation':
        return compileConcatenation(node, this);
      case 'logical':
        return compileLogical(node, this);
      case 'comparison':
        return compileComparison(node, this);
      default:
        return this.compileOther(node);
    }
  }

  private compileOther(node: Expression): Evaluate {
    switch (node.kind) {
      case 'between':
        return compileBetween(node, this);
      case 'like':
        return compileLike(node, this);
      case 'membership':
        return compileMembership(node, this);
      case 'is':
        return compileIs(node, this);
      case 'case':
        return compileCase(node, this);
      case 'object':
        return compileObject(node, this);
      case 'array':
        return this.array(node.items);
      case 'quantified':
        return compileQuantified(node, this);
      case 'comprehension':
        return compileComprehension(node, this);
      case 'call':
        return compileCall(node, this);
      case 'user call': {
        const list = node.arguments.map((item) => this.compileDeepParsed(item));
        return (row, context) => context.userCall(node, evaluateAll(list, row, context));
      }
      case 'subquery':
        return this.subquery(node);
      case 'all keys':
        return this.compile(node.of);
      case 'aggregate':
        throw sqlError(3100, aggregateText);
      case 'flatten keys':
        throw sqlError(3283, formatExpression(node), '');
      default:
        throw new Error(`an expression of kind ${node.kind} cannot be evaluated here`);
    }
  }

  private variable(name: string): Evaluate {
    const variable = this.variables.get(name);
    if (variable === undefined) throw new Error(`the name ${name} was not resolved`);
    return () => variable.value;
  }

  private exists(operand: Expression): Evaluate {
    const evaluate = this.compileParsed(operand);
    return (row, context) => {
      const value = evaluate(row, context);
      if (Array.isArray(value)) return value.length > 0;
      return value === undefined ? undefined : null;
    };
  }

  private array(items: readonly Expression[]): Evaluate {
    const list = items.map((item) => this.compileDeepParsed(item));
    // A MISSING item becomes null in JSON text.
    return (row, context) => evaluateAll(list, row, context);
  }

  private subquery(node: Subquery): Evaluate {
    const correlation = this.compileAll(node.correlation ?? []);
    return (row, context) => context.subquery(node, evaluateAll(correlation, row, context));
  }
}

/** The published text of the error for an aggregate where none is allowed. */
const aggregateText =
  'Aggregates/Window functions are allowed in SELECT only, in its result, LETTING, HAVING and ORDER BY';

/** Whether the value may be or contain unparsed JSON text. */
function mayBeText({ kind }: Expression): boolean {
  switch (kind) {
    case 'slot':
    case 'identifier':
    case 'field':
    case 'element':
    case 'slice':
    case 'array star':
    case 'case':
    case 'subquery':
    case 'user call':
    case 'comprehension':
    case 'object':
      return true;
    default:
      return false;
  }
}

/** The error of a statement that uses a parameter without a value. */
export const noValueError = (kind: 'named' | 'positional', parameter: string | number): SqlError =>
  sqlError(5010, `expression: no value for ${kind} parameter $${parameter}`);

function namedParameter({ named }: EvaluationContext, name: string): Value {
  const value = named.get(name);
  if (value === undefined && !named.has(name)) throw noValueError('named', name);
  return value;
}

function positionalParameter({ positional }: EvaluationContext, position: number): Value {
  if (position > positional.length) throw noValueError('positional', position);
  return positional[position - 1];
}
