// UPDATE STATISTICS and ANALYZE: finds the expressions, which the query service then gathers or deletes.
import type { IndexDefinition, Indexes } from '../datastore/indexes.ts';
import { type Keyspace, keyspaceText } from '../datastore/keyspace.ts';
import { sqlError, sqlErrorWith } from '../errors/sql-error.ts';
import type { Resolver } from '../plan/resolver.ts';
import { type StatisticsKey, statisticsKeys } from '../plan/statistics-keys.ts';
import type { UpdateStatistics } from '../tree/definition.ts';
import type { Expression } from '../tree/expression.ts';
import type { Command, ExecuteContext, PreparedStatement } from './engine.ts';
import { type IndexNames, namesOf, type PrepareValue } from './index-names.ts';
import { emptyExecution, plainPrepared } from './plain-statement.ts';
import { parsed } from './planning.ts';
import { statisticsOptions } from './statistics-options.ts';

type Change = Extract<Command, { kind: 'UPDATE_STATISTICS' }>['change'];
/** Finds the change when the statement runs, since indexes may be created after it was prepared. */
type ChangeOf = (context: ExecuteContext) => Promise<Change>;

export function statisticsStatement(
  resolver: Resolver,
  tree: UpdateStatistics,
  prepareValue: PrepareValue,
): PreparedStatement {
  const { keyspace, name } = resolver.keyspace(tree.keyspace, 'select');
  if (!keyspace) throw sqlError(12003, keyspaceText(name));
  const names = tree.action.kind === 'indexes' ? namesOf(tree.action.names, prepareValue) : [];
  const changeOf = changesOf(keyspace, tree, names);
  return {
    ...plainPrepared(resolver.text, 'UPDATE_STATISTICS', [
      ...resolver.privileges.values(),
      ...names.flatMap(({ prepared }) => prepared?.privileges ?? []),
    ]),
    keyspaces: [keyspace],
    parameters: names.flatMap(({ prepared }) => prepared?.parameters ?? []),
    program: {
      run: (_prepared, context) => ({
        ...emptyExecution(),
        rows: (async function* changed() {
          const change = await changeOf(context);
          yield* context.command({ kind: 'UPDATE_STATISTICS', keyspace, change }, context);
        })(),
      }),
    },
  };
}

function changesOf(keyspace: Keyspace, tree: UpdateStatistics, names: readonly IndexNames[]): ChangeOf {
  const { action } = tree;
  if (action.kind === 'delete') {
    const expressions = action.terms.length > 0 ? keysOf(action.terms).map((key) => key.expression) : null;
    return async () => ({ kind: 'delete', expressions });
  }
  const options = statisticsOptions(tree.with);
  if (action.kind === 'terms') {
    const keys = keysOf(action.terms);
    return async () => ({ kind: 'gather', keys, options });
  }
  const isAll = action.kind === 'all indexes';
  return async (context) => {
    const { indexes } = context.datastore;
    const chosen = isAll ? secondaryOf(indexes, keyspace) : await namedOf(indexes, keyspace, names, context);
    const keys = chosen.flatMap((index) => keysOf(index.keys.map(({ expression }) => parsed(expression))));
    return { kind: 'gather', keys: distinctKeys(keys), options };
  };
}

const keysOf = (terms: readonly Expression[]): StatisticsKey[] => distinctKeys(terms.flatMap(statisticsKeys));

const distinctKeys = (keys: readonly StatisticsKey[]): StatisticsKey[] => [
  ...new Map(keys.map((key) => [key.expression, key])).values(),
];

const secondaryOf = (indexes: Indexes, keyspace: Keyspace): IndexDefinition[] =>
  indexes
    .indexesOf(keyspace)
    .map(({ definition }) => definition)
    .filter(({ isPrimary }) => !isPrimary);

async function namedOf(
  indexes: Indexes,
  keyspace: Keyspace,
  names: readonly IndexNames[],
  context: ExecuteContext,
): Promise<IndexDefinition[]> {
  const wanted: string[] = [];
  for (const { namesIn } of names) wanted.push(...(await namesIn(context)));
  const present = indexes.indexesOf(keyspace).map(({ definition }) => definition);
  return wanted.map((name) => {
    const found = present.find((definition) => definition.name === name);
    if (!found)
      throw sqlErrorWith(12016, { cause: `index ${name} of ${keyspaceText(keyspace.name)} does not exist` });
    return found;
  });
}
