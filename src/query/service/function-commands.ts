// CREATE FUNCTION and DROP FUNCTION through the main thread, which stores definitions; EXECUTE FUNCTION runs `SELECT RAW` of a call.
import { SqlError, sqlError } from '#sqlpp/errors/sql-error.ts';
import type { FunctionName, PlainCommand } from '#sqlpp/run/commands.ts';
import type { Value, ValueObject } from '#sqlpp/values/value.ts';
import { libraryPlace } from '../functions/known-libraries.ts';
import type { FunctionChange, FunctionScope } from '../query.contract.ts';
import type { CommandContext } from './command-context.ts';

type CreateFunction = Extract<PlainCommand, { kind: 'CREATE_FUNCTION' }>;
type DropFunction = Extract<PlainCommand, { kind: 'DROP_FUNCTION' }>;
type ExecuteFunction = Extract<PlainCommand, { kind: 'EXECUTE_FUNCTION' }>;

export async function changeFunctions(
  command: CreateFunction | DropFunction,
  { service }: CommandContext,
): Promise<void> {
  const outcome = await service.deps.changeFunction(changeOf(command));
  const shown = shownName(command.name);
  if (typeof outcome === 'object') throw sqlError(10103, shown, outcome.refused);
  if (command.hasIfClause) return;
  if (outcome === 'exists') throw sqlError(10102, shown);
  if (outcome === 'not found') throw sqlError(10101, shown);
}

function changeOf(command: CreateFunction | DropFunction): FunctionChange {
  const { name } = command.name;
  const scope = scopeOf(command.name);
  if (command.kind === 'DROP_FUNCTION') return { kind: 'drop', scope, name };
  const { parameters, isVariadic, body, library, replaces } = command;
  if (library !== undefined && libraryPlace(library, scope) === null) throw sqlError(10114, library);
  const definition = { scope, name, parameters, isVariadic, body, ...(library !== undefined && { library }) };
  return { kind: 'create', definition, replaces };
}

export async function* executeFunction(
  command: ExecuteFunction,
  given: CommandContext,
): AsyncIterable<readonly Value[]> {
  const { chooser, context } = given;
  const { name, isKnown, arguments: expressions } = command;
  if (!isKnown) throw sqlError(10101, shownName(name));
  const parameters = expressions.map((_, at) => `$${at + 1}`);
  const call = chooser.prepareCached(`SELECT RAW ${path(name)}(${parameters.join(', ')})`);
  await context.authorize(call.privileges);
  // Before the call, so that failures of the arguments can be told from those of the function.
  const positional = expressions.length === 0 ? [] : await valuesOf(expressions, given);
  try {
    yield* call.program.run(call, { ...context, positional }).rows;
  } catch (error) {
    throw failureOf(error, name);
  }
}

/** The values of expressions; `undefined` for MISSING. */
async function valuesOf(
  expressions: readonly string[],
  { chooser, context }: CommandContext,
): Promise<Value[]> {
  const members = expressions.map((expression, at) => `"${at}": ${expression}`);
  const prepared = chooser.prepareText(`SELECT RAW {${members.join(', ')}}`);
  await context.authorize(prepared.privileges);
  const rows: ValueObject[] = [];
  for await (const batch of prepared.program.run(prepared, context).rows)
    rows.push(...(batch as readonly ValueObject[]));
  return expressions.map((_, at) => rows[0]?.[at]);
}

/** An error of an inline function (5010: an expression fails, 5011: it calls ABORT) becomes the cause of error 10109, as in the published server. */
function failureOf(error: unknown, name: FunctionName): unknown {
  if (!(error instanceof SqlError) || (error.code !== 5010 && error.code !== 5011)) return error;
  const cause = error.code === 5011 ? error.message.replace(/^Abort: ([\s\S]*)\.$/, '$1') : error.message;
  return sqlError(10109, shownName(name), ` - cause: ${cause}`);
}

const scopeOf = ({ bucket, scope }: FunctionName): FunctionScope =>
  bucket === '' ? null : { bucket, scope };

const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

const path = ({ bucket, scope, name }: FunctionName): string =>
  bucket === '' ? `default:${quoted(name)}` : `default:${[bucket, scope, name].map(quoted).join('.')}`;

const shownName = ({ bucket, scope, name }: FunctionName): string =>
  bucket === '' ? name : `default:${bucket}.${scope}.${name}`;
