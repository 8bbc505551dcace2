// Prepares statements that change indexes, and resolves names of statements that the query service runs.
import type { IndexKey, NewIndex } from '../datastore/indexes.ts';
import { type Keyspace, keyspaceText } from '../datastore/keyspace.ts';
import { sqlError } from '../errors/sql-error.ts';
import { Resolver } from '../plan/resolver.ts';
import { formatExpression } from '../text/format.ts';
import type { AlterIndex, BuildIndexes, CreateIndex, DropIndex } from '../tree/definition.ts';
import type { KeyTerm } from '../tree/expression.ts';
import type { PlainStatement } from '../tree/statement.ts';
import { newObject, type Value, type ValueObject } from '../values/value.ts';
import { commandOf } from './command-of.ts';
import type { PrepareContext, PreparedStatement, StatementKind } from './engine.ts';
import { checkIndexKeys } from './index-checks.ts';
import { namesOf, type PrepareValue } from './index-names.ts';
import { type Action, commandStatement, executionOf, plainPrepared } from './plain-statement.ts';
import { statisticsStatement } from './statistics-statement.ts';

type Definition = Exclude<
  PlainStatement,
  { kind: 'select' | 'insert' | 'upsert' | 'update' | 'delete' | 'merge' | 'infer' }
>;

export function definitionStatement(
  tree: Definition,
  text: string,
  context: PrepareContext,
  prepareValue: PrepareValue,
): PreparedStatement {
  const resolver = new Resolver(text, context.datastore, context.queryContext, context.userFunctions);
  if ('using' in tree && tree.using !== undefined && tree.using !== 'gsi')
    throw sqlError(16003, `USING ${tree.using.toUpperCase()}: indexes of this node are those of USING GSI`);
  switch (tree.kind) {
    case 'create index':
      return indexStatement(
        resolver,
        tree.isPrimary ? 'CREATE_PRIMARY_INDEX' : 'CREATE_INDEX',
        createIndex(resolver, tree),
      );
    case 'drop index':
      return indexStatement(resolver, 'DROP_INDEX', dropIndex(resolver, tree));
    case 'alter index':
      return indexStatement(resolver, 'ALTER_INDEX', alterIndex(resolver, tree));
    case 'build indexes':
      return buildIndexes(resolver, tree, prepareValue);
    case 'update statistics':
      return statisticsStatement(resolver, tree, prepareValue);
    default: {
      const { command, privileges } = commandOf(resolver, tree);
      return commandStatement(text, command, privileges);
    }
  }
}

function indexStatement(resolver: Resolver, kind: StatementKind, action: Action): PreparedStatement {
  return {
    ...plainPrepared(resolver.text, kind, [...resolver.privileges.values()]),
    keyspaces: [...resolver.keyspaces.values()]
      .map((ref) => ref.keyspace)
      .filter((keyspace) => keyspace !== undefined),
    program: { run: (_prepared, context) => executionOf(action, context) },
  };
}

function keyspaceOf(resolver: Resolver, path: CreateIndex['keyspace']): Keyspace {
  const { keyspace, name } = resolver.keyspace(path, 'index');
  if (!keyspace) throw sqlError(12003, keyspaceText(name));
  return keyspace;
}

function createIndex(resolver: Resolver, tree: CreateIndex): Action {
  const keyspace = keyspaceOf(resolver, tree.keyspace);
  checkIndexKeys(resolver.text, tree);
  const definition = definitionOf(keyspace, tree);
  return async (context) => {
    const { signal } = context;
    await context.datastore.indexAdmin.create(definition, { ifNotExists: tree.ifNotExists, signal });
    return [];
  };
}

function definitionOf(keyspace: Keyspace, tree: CreateIndex): NewIndex {
  const options = optionsOf(tree.with);
  const [replicas, nodes] = [numberOption(options, 'num_replica'), nodesOption(options)];
  return {
    name: tree.name ?? '#primary',
    keyspace,
    isPrimary: tree.isPrimary,
    keys: tree.keys.map(indexKey),
    ...(tree.where && { condition: formatExpression(tree.where) }),
    ...(tree.partitionBy.length > 0 && {
      partition: {
        expressions: tree.partitionBy.map((expression) => formatExpression(expression)),
        partitions: numberOption(options, 'num_partition') ?? partitionsDefault,
      },
    }),
    isDeferred: options['defer_build'] === true,
    ...(replicas !== undefined && { replicas }),
    ...(nodes !== undefined && { nodes }),
  };
}

function indexKey({ expression, isDescending, includesMissing }: KeyTerm): IndexKey {
  const array = expression.kind === 'all keys' ? (expression.isDistinct ? 'distinct' : 'all') : undefined;
  return {
    expression: formatExpression(expression),
    isDescending,
    includesMissing,
    ...(array && { array }),
  };
}

/** The published number of partitions of an index without `num_partition`. */
const partitionsDefault = 8;

/** Members of WITH; those that only published servers use are ignored. */
const knownOptions = new Set([
  'defer_build',
  'num_replica',
  'nodes',
  'num_partition',
  'secKeySize',
  'docKeySize',
  'arrSize',
  'numDoc',
  'residentRatio',
  'retain_deleted_xattr',
  'action',
  'replicaId',
]);

function optionsOf(value: Value): ValueObject {
  if (value === undefined || value === null) return newObject();
  if (typeof value !== 'object' || Array.isArray(value))
    throw sqlError(3100, 'WITH takes an object, as in {"defer_build": true}');
  const options = value as ValueObject;
  for (const name of Object.keys(options)) {
    if (!knownOptions.has(name))
      throw sqlError(
        5000,
        `GSI CreateIndex() - cause: Fails to create index. Invalid parameter ${name} in WITH; known are defer_build, num_replica, nodes and num_partition`,
      );
  }
  if (options['defer_build'] !== undefined && typeof options['defer_build'] !== 'boolean')
    throw sqlError(
      5000,
      'GSI CreateIndex() - cause: Fails to create index. Parameter defer_build must be a boolean value of (true or false).',
    );
  return options;
}

function numberOption(options: ValueObject, name: string): number | undefined {
  const value = options[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw sqlError(
      5000,
      `GSI CreateIndex() - cause: Fails to create index. Parameter ${name} must be a positive integer value.`,
    );
  return value;
}

/** The names of `nodes`: an array, or one text. */
function nodesOption(options: ValueObject): readonly string[] | undefined {
  const value = options['nodes'];
  if (value === undefined) return undefined;
  const names = typeof value === 'string' ? [value] : value;
  const isList = Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string');
  if (!isList)
    throw sqlError(
      5000,
      'GSI CreateIndex() - cause: Fails to create index. Parameter nodes must be an array of names of nodes, as in ["127.0.0.1:8091"].',
    );
  return names as string[];
}

function dropIndex(resolver: Resolver, tree: DropIndex): Action {
  const keyspace = keyspaceOf(resolver, tree.keyspace);
  const name = tree.name ?? '#primary';
  return async (context) => {
    await context.datastore.indexAdmin.drop(keyspace, name, { ifExists: tree.ifExists });
    return [];
  };
}

function alterIndex(resolver: Resolver, tree: AlterIndex): Action {
  const keyspace = keyspaceOf(resolver, tree.keyspace);
  const options = optionsOf(tree.with);
  const action = options['action'];
  const [replicas, replicaId] = [numberOption(options, 'num_replica'), numberOption(options, 'replicaId')];
  const nodes = nodesOption(options);
  return async (context) => {
    if (typeof action !== 'string')
      throw sqlError(
        5000,
        'GSI AlterIndex() - cause: the action must be given, one of move, replica_count and drop_replica',
      );
    const change = {
      action,
      ...(replicas !== undefined && { replicas }),
      ...(replicaId !== undefined && { replicaId }),
      ...(nodes !== undefined && { nodes }),
    };
    await context.datastore.indexAdmin.alter(keyspace, tree.name, change);
    return [];
  };
}

function buildIndexes(resolver: Resolver, tree: BuildIndexes, prepareValue: PrepareValue): PreparedStatement {
  const keyspace = keyspaceOf(resolver, tree.keyspace);
  const names = namesOf(tree.names, prepareValue);
  const statement = indexStatement(resolver, 'BUILD_INDEX', async (context) => {
    const built: string[] = [];
    for (const { namesIn } of names) built.push(...(await namesIn(context)));
    await context.datastore.indexAdmin.build(keyspace, built, context.signal);
    return [];
  });
  return {
    ...statement,
    privileges: [...statement.privileges, ...names.flatMap(({ prepared }) => prepared?.privileges ?? [])],
    parameters: names.flatMap(({ prepared }) => prepared?.parameters ?? []),
  };
}
