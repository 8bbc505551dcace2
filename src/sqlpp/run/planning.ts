// What the planner needs to know of a statement and its datastore (`PlanningContext`).
import type { IndexDefinition, Indexes, IndexStatus } from '../datastore/indexes.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import type { QueryPlan } from '../plan/operators.ts';
import type { PlanningContext } from '../plan/planning.ts';
import { parseExpression } from '../text/parser.ts';
import { staticValue } from '../text/static-value.ts';
import type { Expression } from '../tree/expression.ts';
import type { Statement } from '../tree/statement.ts';
import { collate } from '../values/collation.ts';
import { resolveDeep } from '../values/json-parse.ts';
import type { Value } from '../values/value.ts';
import type { PrepareContext } from './engine.ts';

export interface StatementPlanning extends PlanningContext {
  /** Plans of subqueries in expressions, in the order in which they were found. */
  readonly subqueries: QueryPlan[];
  /** The parameters that the statement uses: names without `$`, and positions as digits. */
  parameters(tree: Statement): string[];
  /** Call after planning: plans refer to this object, and are used longer than the request's parameters and indexes. */
  release(): void;
}

export type KnownValues = Pick<PrepareContext, 'positional' | 'named' | 'onParameterRead'>;

/** Plans keep the returned object, so it must not refer to the datastore of the request, which refers to the request's session. */
export function planningOf(text: string, context: PrepareContext): StatementPlanning {
  const { sequentialScans, datastore, statistics } = context;
  let values: KnownValues = context;
  // Indexes of a transaction refer to its changes.
  let indexes: Pick<Indexes, 'indexesOf'> = datastore.indexes;
  const used = new Map<string, IndexDefinition>();
  return {
    text,
    used,
    subqueries: [],
    sequentialScans,
    indexesOf: (keyspace: Keyspace): readonly IndexStatus[] => indexes.indexesOf(keyspace),
    statisticsOf: (keyspace) => statistics?.(keyspace),
    parse: parsed,
    compare: (a, b) => collate(resolveDeep(a as Value), resolveDeep(b as Value)),
    constantOf: (expression) => constantOf(expression, values),
    parameters: (tree) => (mayHaveParameters(text) ? parametersOf(tree) : []),
    release: () => {
      values = {};
      indexes = released;
    },
  };
}

const released: Pick<Indexes, 'indexesOf'> = {
  indexesOf: () => {
    throw new Error('the statement is planned already');
  },
};

/** The value of a literal, of a combination of literals, or of a parameter that has one already. */
export function constantOf(expression: Expression, context: KnownValues): { value: Value } | undefined {
  if (expression.kind === 'named parameter') {
    const { named } = context;
    context.onParameterRead?.(expression.name);
    return named?.has(expression.name) ? { value: named.get(expression.name) } : undefined;
  }
  if (expression.kind === 'positional parameter') {
    const { positional } = context;
    context.onParameterRead?.(expression.position);
    const at = expression.position - 1;
    return positional && at < positional.length ? { value: positional[at] } : undefined;
  }
  return staticValue(expression);
}

const parsedTexts = new Map<string, Expression>();
const parsedTextsMax = 4096;

/** Parsed keys and conditions of indexes, cached for all statements. */
export function parsed(text: string): Expression {
  let tree = parsedTexts.get(text);
  if (!tree) {
    tree = parseExpression(text);
    if (parsedTexts.size >= parsedTextsMax) parsedTexts.clear();
    parsedTexts.set(text, tree);
  }
  return tree;
}

/** Searching the text takes far less time than visiting the tree, which is large for long statements. */
export const mayHaveParameters = (text: string): boolean => text.includes('$') || text.includes('?');

/** All parameters in a tree: names without `$`, and positions as digits. */
function parametersOf(tree: Statement): string[] {
  const names = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { kind, name, position } = node as Record<string, unknown>;
    if (kind === 'constant') return;
    if (kind === 'named parameter') names.add(String(name));
    else if (kind === 'positional parameter') names.add(String(position));
    for (const child in node) visit((node as Record<string, unknown>)[child]);
  };
  visit(tree);
  return [...names];
}
