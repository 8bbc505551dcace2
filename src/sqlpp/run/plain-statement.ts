// Parts of statements without a plan: definitions, commands and INFER.
import { newObject, type Value } from '../values/value.ts';
import type {
  Command,
  ExecuteContext,
  Execution,
  Outcome,
  PreparedStatement,
  Privilege,
  StatementKind,
} from './engine.ts';

export type Action = (context: ExecuteContext, outcome: Outcome) => Promise<readonly Value[]>;

export function commandStatement(
  text: string,
  command: Command,
  privileges: readonly Privilege[],
): PreparedStatement {
  return {
    ...plainPrepared(text, command.kind, privileges),
    isReadonly: false,
    program: {
      run: (_prepared, context) => ({ ...emptyExecution(), rows: context.command(command, context) }),
    },
  };
}

export function plainPrepared(
  text: string,
  kind: StatementKind,
  privileges: readonly Privilege[],
): Omit<PreparedStatement, 'program'> {
  const explain = newObject();
  explain['#operator'] = kind
    .toLowerCase()
    .split('_')
    .map((word) => word[0]?.toUpperCase() + word.slice(1))
    .join('');
  return {
    text,
    kind,
    isReadonly: false,
    signature: undefined,
    privileges,
    keyspaces: [],
    indexIds: [],
    explain,
    parameters: [],
  };
}

export function emptyExecution(): Omit<Execution, 'rows'> {
  return {
    outcome: { mutations: 0, sorted: 0, usedBytes: 0, errors: [], warnings: [], phases: new Map() },
    timings: () => null,
  };
}

export function executionOf(action: Action, context: ExecuteContext): Execution {
  const execution = emptyExecution();
  return {
    ...execution,
    rows: (async function* actOnce() {
      context.signal.throwIfAborted();
      const rows = await action(context, execution.outcome);
      if (rows.length > 0) yield rows;
    })(),
  };
}
