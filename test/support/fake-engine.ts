// An engine with a few statements of its own, for tests of the service around it:
//   ROWS n        n rows {"n": i}, in batches of 10
//   WAIT          one row, then nothing until the request ends
//   FAIL code     an error of this code before any row
//   LATE code     a row, then an error of this code
//   SOME code     a row, and an error of this code in the outcome
//   WRITE         one mutation, no rows
//   CLOSED        requires a privilege
//   SYNTAX        cannot be prepared: a syntax error
//   BUG           an error that is not a SQL++ error
//   ARGS          the positional and the named parameters
//   ADVISOR       the advice for the statement that is the first positional parameter
//   ADVISE        no rows
//   PREPARE name FROM statement   (_: without a name)
//   EXECUTE name

import type { Engine } from '#query/state/engine-port.ts';
import type { ErrorCode } from '#sqlpp/errors/catalog.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type {
  ExecuteContext,
  Execution,
  Outcome,
  PrepareContext,
  PreparedStatement,
} from '#sqlpp/run/engine.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';
import type { Value } from '#sqlpp/values/value.ts';

export const fakeEngine = (): Engine & { prepares: number } => ({
  prepares: 0,
  prepare(text, context) {
    this.prepares++;
    return prepare(text, context);
  },
  *prepareSteps(text, context) {
    yield;
    return this.prepare(text, context);
  },
  execute: run,
  textOf: jsonText,
  partsOf: () => null,
});

function prepare(text: string, context: PrepareContext): PreparedStatement {
  const [verb = '', argument = ''] = text.split(' ');
  if (verb === 'SYNTAX')
    throw sqlError(3000, `syntax error - line 1, column 8, near 'SYNTAX', at: ${text.slice(7)}`);
  const keyspace = { namespace: 'default', bucket: 'b', scope: '_default', collection: '_default' } as const;
  const kinds: Record<string, PreparedStatement['kind']> = {
    WRITE: 'UPDATE',
    PREPARE: 'PREPARE',
    EXECUTE: 'EXECUTE',
  };
  return {
    text,
    kind: kinds[verb] ?? 'SELECT',
    isReadonly: verb !== 'WRITE',
    signature: { n: 'number' },
    privileges: verb === 'CLOSED' ? [{ action: 'select', keyspace }] : [],
    keyspaces: [],
    indexIds: [],
    explain: { '#operator': 'Fake' },
    parameters: [],
    ...(verb === 'EXECUTE' && { execute: { name: argument, using: undefined } }),
    program: { run: verb === 'ADVISE' ? run : () => neverRuns(context) },
  };
}

const neverRuns = (_context: PrepareContext): never => {
  throw new Error('the fake engine runs statements without a program');
};

function run(prepared: PreparedStatement, context: ExecuteContext): Execution {
  const outcome: Outcome = {
    mutations: 0,
    sorted: 0,
    usedBytes: 0,
    errors: [],
    warnings: [],
    phases: new Map([['primaryScan', { operators: 1, items: 2, ms: 1 }]]),
  };
  return { rows: rowsOf(prepared, context, outcome), outcome, timings: () => ({ '#operator': 'Fake' }) };
}

async function* rowsOf(
  { text }: PreparedStatement,
  context: ExecuteContext,
  outcome: Outcome,
): AsyncIterable<readonly Value[]> {
  const [verb, argument = '', ...rest] = text.split(' ');
  const code = Number(argument) as ErrorCode;
  if (verb === 'FAIL') throw sqlError(code, 'a');
  if (verb === 'BUG') throw new Error('secret of the inside');
  if (verb === 'WRITE') outcome.mutations = 1;
  if (verb === 'PREPARE') {
    const prepared = prepare(rest.slice(1).join(' '), context as never);
    const named = argument === '_' ? {} : { name: argument };
    yield* context.command({ kind: 'PREPARE', ...named, isForced: false, prepared }, context);
  }
  if (verb === 'ROWS')
    for (let n = 0; n < code; n += 10)
      yield Array.from({ length: Math.min(10, code - n) }, (_, at) => ({ n: n + at }));
  if (verb === 'LATE' || verb === 'WAIT' || verb === 'SOME') yield [{ n: 1 }];
  if (verb === 'LATE') throw sqlError(code, 'a');
  if (verb === 'SOME') (outcome.errors as Error[]).push(sqlError(code, 'a'));
  if (verb === 'ARGS') yield [[...context.positional], Object.fromEntries(context.named)];
  if (verb === 'ADVISOR') yield [await context.advisor?.(context.positional[0])];
  if (verb === 'WAIT')
    await new Promise((_, reject) => {
      context.signal.throwIfAborted();
      context.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
    });
}
