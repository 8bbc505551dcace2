// Names of indexes in BUILD INDEX and UPDATE STATISTICS: bare names, strings, or values that the run finds.
import { sqlError } from '../errors/sql-error.ts';
import { formatExpression } from '../text/format.ts';
import { staticValue } from '../text/static-value.ts';
import type { Expression } from '../tree/expression.ts';
import { resolveDeep } from '../values/json-parse.ts';
import type { Value } from '../values/value.ts';
import type { ExecuteContext, PreparedStatement } from './engine.ts';

/** Prepares a SELECT of the expression's value. */
export type PrepareValue = (expression: Expression) => PreparedStatement;

export interface IndexNames {
  /** A statement whose run returns the names, where they come from a subquery or a parameter. */
  readonly prepared?: PreparedStatement;
  namesIn(context: ExecuteContext): Promise<string[]>;
}

/** A function of its own, since closures of its callers outlive the request: they must not hold `prepareValue`, which holds the request's datastore. */
export const namesOf = (nodes: readonly Expression[], prepareValue: PrepareValue): IndexNames[] =>
  nodes.map((node) => nameOf(node, prepareValue));

/** A bare name, a string, an array of strings, or an expression with one of these as its value. */
function nameOf(node: Expression, prepareValue: PrepareValue): IndexNames {
  if (node.kind === 'identifier') return { namesIn: async () => [node.name] };
  const constant = staticValue(node);
  if (constant) {
    const names = namesIn(constant.value, node);
    return { namesIn: async () => names };
  }
  const prepared = prepareValue(node);
  return {
    prepared,
    namesIn: async (context) => {
      const names: string[] = [];
      for await (const rows of prepared.program.run(prepared, context).rows)
        for (const row of rows) names.push(...namesIn(resolveDeep(row), node));
      return names;
    },
  };
}

function namesIn(value: Value, node: Expression): string[] {
  const list = Array.isArray(value) ? (value as Value[]) : [value];
  return list.map((name) => {
    if (typeof name !== 'string') throw sqlError(5410, formatExpression(node));
    return name;
  });
}
