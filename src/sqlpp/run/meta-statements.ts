// Statements that explain, advise, prepare or run another statement, and INFER, which describes documents.
import type { WorkSteps } from '#base/steps.ts';
import { sqlError } from '../errors/sql-error.ts';
import { staticValue } from '../text/static-value.ts';
import type { Infer } from '../tree/definition.ts';
import type { Advise, Execute, Explain, PlainStatement, Prepare } from '../tree/statement.ts';
import { newObject, type Value } from '../values/value.ts';
import { adviseContext, adviseRow } from './advising.ts';
import type { PrepareContext, PreparedStatement } from './engine.ts';
import { inferStatement } from './inferring.ts';
import { commandStatement, executionOf, plainPrepared } from './plain-statement.ts';

type PrepareInner = (
  tree: PlainStatement,
  text: string,
  context: PrepareContext,
) => WorkSteps<PreparedStatement>;

export function* metaStatement(
  tree: Explain | Advise | Prepare | Execute | Infer,
  text: string,
  context: PrepareContext,
  prepareInner: PrepareInner,
): WorkSteps<PreparedStatement> {
  switch (tree.kind) {
    case 'explain':
      return explainStatement(text, yield* prepareInner(tree.statement, tree.text, context), tree.text);
    case 'advise': {
      if (!['select', 'update', 'delete', 'merge'].includes(tree.statement.kind)) throw sqlError(3250);
      const advised = adviseContext(context);
      const inner = yield* prepareInner(tree.statement, tree.text, advised);
      return {
        ...plainPrepared(text, 'ADVISE', inner.privileges),
        isReadonly: true,
        signature: 'json',
        keyspaces: inner.keyspaces,
        parameters: inner.parameters,
        program: {
          run: (_prepared, execution) =>
            executionOf(async () => [await adviseRow(tree, inner, advised, execution)], execution),
        },
      };
    }
    case 'prepare': {
      const prepared = yield* prepareInner(tree.statement, tree.text, context);
      const name = tree.name === undefined ? {} : { name: tree.name };
      return {
        ...commandStatement(
          text,
          { kind: 'PREPARE', ...name, isForced: tree.isForced, prepared },
          prepared.privileges,
        ),
        isReadonly: true,
        signature: 'json',
      };
    }
    case 'execute':
      return executeStatement(tree, text);
    case 'infer':
      return inferStatement(tree, text, context);
  }
}

function explainStatement(text: string, inner: PreparedStatement, innerText: string): PreparedStatement {
  return {
    ...plainPrepared(text, 'EXPLAIN', inner.privileges),
    isReadonly: true,
    signature: 'json',
    keyspaces: inner.keyspaces,
    indexIds: inner.indexIds,
    parameters: inner.parameters,
    program: {
      run: (_prepared, context) =>
        executionOf(async () => {
          const row = newObject();
          row['plan'] = inner.explain;
          row['text'] = innerText;
          return [row];
        }, context),
    },
  };
}

/** EXECUTE: the service runs the named prepared statement. */
function executeStatement(tree: Execute, text: string): PreparedStatement {
  const name = nameOf(tree);
  const using: Value = tree.using && staticValue(tree.using)?.value;
  return {
    ...plainPrepared(text, 'EXECUTE', []),
    isReadonly: false,
    execute: { name, using },
    program: {
      run: () => {
        throw sqlError(4040, name);
      },
    },
  };
}

function nameOf({ prepared }: Execute): string {
  if (prepared.kind === 'identifier') return prepared.name;
  const value = staticValue(prepared)?.value;
  if (typeof value !== 'string') throw sqlError(4050);
  return value;
}
