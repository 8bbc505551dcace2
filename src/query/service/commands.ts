// Statements that the service runs without the engine: PREPARE, and those about transactions, scopes and collections, roles, functions and
// statistics.
import type { PlainCommand } from '#sqlpp/run/commands.ts';
import type { Command, PrepareCommand } from '#sqlpp/run/engine.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { asValue } from '../request/value-of-json.ts';
import { changeCollections } from './collection-commands.ts';
import type { CommandContext } from './command-context.ts';
import { changeFunctions, executeFunction } from './function-commands.ts';
import { changeRoles } from './role-commands.ts';
import { isTransactional, runTransactional, type TransactionCommand } from './transaction-commands.ts';
import { updateStatistics } from './update-statistics.ts';

export async function* runCommand(command: Command, given: CommandContext): AsyncIterable<readonly Value[]> {
  if (command.kind === 'PREPARE') {
    const row = prepareRow(command, given);
    if (command.name !== undefined) await discardOnOtherNodes(command.name, command.prepared.text, given);
    yield [row];
  } else if (isTransactional(command)) yield await runTransactional(command, given);
  else if (command.kind === 'EXECUTE_FUNCTION') yield* executeFunction(command, given);
  else await runPlain(command, given);
}

async function runPlain(
  command: Exclude<PlainCommand, TransactionCommand | { kind: 'EXECUTE_FUNCTION' }>,
  given: CommandContext,
): Promise<void> {
  switch (command.kind) {
    case 'CREATE_SCOPE':
    case 'DROP_SCOPE':
    case 'CREATE_COLLECTION':
    case 'DROP_COLLECTION':
    case 'FLUSH_COLLECTION':
      return await changeCollections(command, given);
    case 'GRANT_ROLE':
    case 'REVOKE_ROLE':
      return await changeRoles(command, given);
    case 'UPDATE_STATISTICS':
      return await updateStatistics(command, given);
    case 'CREATE_FUNCTION':
    case 'DROP_FUNCTION':
      return await changeFunctions(command, given);
  }
}

/** Other nodes ask for a statement only if they do not know its name, so they must not keep another statement of this name. */
async function discardOnOtherNodes(name: string, statement: string, given: CommandContext): Promise<void> {
  const { service, request } = given;
  const { node, otherNodes } = service.deps;
  if (node().nodes.length < 2) return;
  await otherNodes.discardPrepared({ name, queryContext: request.queryContextText, statement });
}

function prepareRow(
  command: PrepareCommand,
  { service, request, chooser, onPrepared }: CommandContext,
): Value {
  const text = request.statement ?? command.prepared.text;
  const entry = chooser.cachePrepared(command, text);
  onPrepared?.(entry);
  return asValue({
    encoded_plan: entry.encodedPlan,
    featureControls: request.featureControls ?? (service.deps.settings.others['n1ql-feat-ctrl'] as number),
    indexApiVersion: 4,
    indexScanKeyspaces: Object.fromEntries(
      command.prepared.keyspaces.map(({ name }) => [keyspaceOf(name), false]),
    ),
    name: entry.name,
    namespace: 'default',
    operator: command.prepared.explain,
    queryContext: entry.queryContext,
    signature: command.prepared.signature ?? null,
    text,
    useCBO: chooser.usesStatistics,
  });
}

const keyspaceOf = ({
  bucket,
  scope,
  collection,
}: {
  bucket: string;
  scope: string;
  collection: string;
}): string =>
  scope === '_default' && collection === '_default'
    ? `default:${bucket}`
    : `default:${bucket}.${scope}.${collection}`;
