// Prepares statements: parses, resolves, plans and compiles them, once for any number of runs.
import { resultOf, type WorkSteps } from '#base/steps.ts';
import { noValueError } from '../expressions/compile.ts';
import { planSelect, planSteps } from '../plan/build.ts';
import { planDelete, planInsert, planUpdate } from '../plan/build-change.ts';
import { planMerge } from '../plan/build-merge.ts';
import type { ChangePlan } from '../plan/change-plans.ts';
import { refuseEnterpriseFeatures } from '../plan/enterprise-features.ts';
import type { LogicalSelect } from '../plan/logical.ts';
import type { QueryPlan } from '../plan/operators.ts';
import { Resolver } from '../plan/resolver.ts';
import { signatureOf, signatureOfSelect } from '../plan/signature.ts';
import { formatExpression } from '../text/format.ts';
import { parseSteps } from '../text/parser.ts';
import type { Delete, Insert, Merge, Update } from '../tree/change.ts';
import type { Expression } from '../tree/expression.ts';
import type { Select } from '../tree/query.ts';
import type { Statement as StatementTree } from '../tree/statement.ts';
import type { Value } from '../values/value.ts';
import { BlockCompiler } from './code.ts';
import { definitionStatement } from './definitions.ts';
import type {
  ExecuteContext,
  Execution,
  PrepareContext,
  PreparedStatement,
  Program,
  StatementKind,
} from './engine.ts';
import { type CompiledStatement, type ExplainPlan, execute, selectStatement } from './execution.ts';
import { explainChange, explainSelect } from './explaining.ts';
import { insert } from './inserting.ts';
import { merge } from './merging.ts';
import { metaStatement } from './meta-statements.ts';
import { plainPrepared } from './plain-statement.ts';
import {
  constantOf,
  type KnownValues,
  mayHaveParameters,
  planningOf,
  type StatementPlanning,
} from './planning.ts';
import { StatementCompiler } from './statement-compiler.ts';
import { remove, update } from './updating.ts';

type Parameter = Extract<Expression, { kind: 'named parameter' | 'positional parameter' }>;

export function prepareStatement(text: string, context: PrepareContext): PreparedStatement {
  return resultOf(prepareSteps(text, context));
}

/** Prepares a long statement in steps. Definitions may change between the steps: the caller then prepares the statement again. */
export function* prepareSteps(text: string, context: PrepareContext): WorkSteps<PreparedStatement> {
  const tree = yield* parseSteps(text);
  yield;
  if (!context.isCommunityEdition) return yield* prepareTree(tree, text, context);
  refuseEnterpriseFeatures(tree);
  const { userFunctions } = context;
  // Functions may have been stored by a node of another edition.
  return yield* prepareTree(tree, text, {
    ...context,
    ...(userFunctions && { userFunctions: { ...userFunctions, refusesExternal: true } }),
  });
}

function* prepareTree(
  tree: StatementTree,
  text: string,
  context: PrepareContext,
): WorkSteps<PreparedStatement> {
  const isPlain = tree.kind !== 'explain' && tree.kind !== 'advise' && tree.kind !== 'prepare';
  if (isPlain && mayHaveParameters(text) && unknownKeyspace(tree, context))
    return prepareLater(tree, text, context);
  switch (tree.kind) {
    case 'select':
      return yield* prepareSelect(tree, text, context);
    case 'insert':
    case 'upsert':
    case 'update':
    case 'delete':
    case 'merge':
      return yield* prepareChange(tree, text, context);
    case 'explain':
    case 'advise':
    case 'prepare':
    case 'execute':
    case 'infer':
      return yield* metaStatement(tree, text, context, prepareTree);
    default:
      return definitionStatement(tree, text, context, (expression) =>
        prepareStatement(`SELECT RAW ${formatExpression(expression)}`, context),
      );
  }
}

/** A parameter without a value that names a keyspace: without the value the statement cannot be planned. */
function unknownKeyspace(tree: StatementTree, values: KnownValues): Parameter | undefined {
  const isUnknown = (node: Expression): node is Parameter =>
    (node.kind === 'named parameter' || node.kind === 'positional parameter') && !constantOf(node, values);
  const find = (node: unknown): Parameter | undefined => {
    if (typeof node !== 'object' || node === null) return undefined;
    const { kind, path, expression, use } = node as Record<string, unknown>;
    if (kind === 'constant') return undefined;
    // The target of a statement that changes documents.
    if (kind === undefined && path !== undefined && 'alias' in node && isUnknown(path as Expression))
      return path as Parameter;
    const hasKeys =
      typeof use === 'object' && use !== null && (use as Record<string, unknown>)['keys'] !== undefined;
    if (kind === 'expression' && hasKeys && isUnknown(expression as Expression))
      return expression as Parameter;
    for (const child of Object.values(node)) {
      const found = find(child);
      if (found) return found;
    }
    return undefined;
  };
  return find(tree);
}

/** A statement that is planned when it runs, with the parameters of the run. */
function prepareLater(tree: StatementTree, text: string, context: PrepareContext): PreparedStatement {
  const kind = tree.kind.toUpperCase() as StatementKind;
  const lasting = withoutRequest(context);
  return {
    ...plainPrepared(text, kind, []),
    isReadonly: tree.kind === 'select',
    parameters: planningOf(text, context).parameters(tree),
    program: {
      run: (_prepared: PreparedStatement, execution: ExecuteContext): Execution => {
        const { datastore, positional, named } = execution;
        const missing = unknownKeyspace(tree, { positional, named });
        if (missing?.kind === 'named parameter') throw noValueError('named', missing.name);
        if (missing) throw noValueError('positional', missing.position);
        const prepared = resultOf(prepareTree(tree, text, { ...lasting, datastore, positional, named }));
        const { rows, ...rest } = prepared.program.run(prepared, execution);
        return { ...rest, rows: authorized(prepared, execution, rows) };
      },
    },
  };
}

/** The part of the context that a plan may hold: plans outlive the request, so they hold nothing of its session and values. */
function withoutRequest(context: PrepareContext): Omit<PrepareContext, 'datastore'> {
  const {
    datastore: _,
    positional: _values,
    named: _named,
    onParameterRead: _onParameterRead,
    ...lasting
  } = context;
  return lasting;
}

/** The rows, once the request is allowed what the planned statement does. */
async function* authorized(
  { privileges }: PreparedStatement,
  execution: ExecuteContext,
  rows: Execution['rows'],
): AsyncGenerator<readonly Value[]> {
  await execution.authorize(privileges);
  yield* rows;
}

function* prepareSelect(tree: Select, text: string, context: PrepareContext): WorkSteps<PreparedStatement> {
  const resolver = resolverOf(text, context);
  const planning = planningOf(text, context);
  const logical = yield* resolver.selectSteps(tree, undefined);
  yield;
  const plan = yield* planSteps(planning, logical);
  yield;
  const statements = statementCompilerOf(planning);
  const program = yield* statements.querySteps(plan, true);
  yield;
  return preparedOf(resolver, planning, {
    kind: 'SELECT',
    isReadonly: true,
    signature: signatureOfSelect(logical),
    compiled: { statement: selectStatement(program), programs: statements },
    plan,
    explain: (statsOf) => explainSelect(plan, planning.subqueries, statsOf),
    tree,
  });
}

const resolverOf = (text: string, context: PrepareContext): Resolver =>
  new Resolver(text, context.datastore, context.queryContext, context.userFunctions, (node) =>
    constantOf(node, context),
  );

/** Plans subqueries when the enclosing block is compiled, and keeps the plans for EXPLAIN. */
function statementCompilerOf(planning: StatementPlanning): StatementCompiler {
  return new StatementCompiler({
    planOf: (logical): QueryPlan => {
      const plan = planSelect(planning, logical as LogicalSelect);
      planning.subqueries.push(plan);
      return plan;
    },
  });
}

function* prepareChange(
  tree: Insert | Update | Delete | Merge,
  text: string,
  context: PrepareContext,
): WorkSteps<PreparedStatement> {
  const resolver = resolverOf(text, context);
  const planning = planningOf(text, context);
  const plan = planChange(resolver, planning, tree);
  if (plan.returning) resolver.require('select', plan.target.name);
  const statements = statementCompilerOf(planning);
  yield;
  const statement = yield* compileChange(statements, plan);
  yield;
  return preparedOf(resolver, planning, {
    kind: tree.kind.toUpperCase() as StatementKind,
    isReadonly: false,
    signature: plan.returning ? signatureOf(plan.returning) : undefined,
    compiled: { statement, programs: statements },
    plan,
    explain: (statsOf) => explainChange(plan, planning.subqueries, statsOf),
    tree,
  });
}

function planChange(
  resolver: Resolver,
  planning: StatementPlanning,
  tree: Insert | Update | Delete | Merge,
): ChangePlan {
  switch (tree.kind) {
    case 'insert':
    case 'upsert':
      return planInsert(resolver, planning, tree);
    case 'update':
      return planUpdate(resolver, planning, tree);
    case 'delete':
      return planDelete(resolver, planning, tree);
    case 'merge':
      return planMerge(resolver, planning, tree);
  }
}

function* compileChange(
  statements: StatementCompiler,
  plan: ChangePlan,
): WorkSteps<CompiledStatement['statement']> {
  const compiler = new BlockCompiler(plan.block, plan.covered);
  const compile = (): CompiledStatement['statement'] => {
    switch (plan.kind) {
      case 'insert':
      case 'upsert':
        return insert(
          compiler,
          plan,
          plan.rows.kind === 'query' ? statements.inner(compiler, plan.rows.query) : undefined,
        );
      case 'update':
        return update(compiler, plan, statements.operator(compiler, plan.root));
      case 'delete':
        return remove(compiler, plan, statements.operator(compiler, plan.root));
      case 'merge':
        return merge(compiler, plan, statements.operator(compiler, plan.root));
    }
  };
  const statement = compile();
  yield* statements.finish(compiler);
  return statement;
}

interface PreparedParts {
  readonly kind: StatementKind;
  readonly isReadonly: boolean;
  readonly signature: Value;
  readonly compiled: CompiledStatement;
  /** The operator to which a profile attributes the statement's own time. */
  readonly plan: object;
  readonly explain: ExplainPlan;
  readonly tree: StatementTree;
}

function preparedOf(
  resolver: Resolver,
  planning: StatementPlanning,
  parts: PreparedParts,
): PreparedStatement {
  const { compiled, kind, isReadonly, signature, explain } = parts;
  const program: Program = {
    run: (_prepared: PreparedStatement, context: ExecuteContext): Execution =>
      execute(compiled, context, parts),
  };
  planning.release();
  return {
    text: resolver.text,
    kind,
    isReadonly,
    signature,
    privileges: [...resolver.privileges.values()],
    keyspaces: [...resolver.keyspaces.values()]
      .map((ref) => ref.keyspace)
      .filter((keyspace) => keyspace !== undefined),
    indexIds: [...planning.used.keys()],
    get explain(): Value {
      return explain();
    },
    parameters: planning.parameters(parts.tree),
    program,
  };
}
