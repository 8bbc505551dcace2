// BEGIN, COMMIT, ROLLBACK, savepoints and SET TRANSACTION.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { PlainCommand } from '#sqlpp/run/commands.ts';
import type { Command } from '#sqlpp/run/engine.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { asValue } from '../request/value-of-json.ts';
import type { Transaction } from '../transactions/transaction.ts';
import { beginTransaction } from './begin-transaction.ts';
import type { CommandContext } from './command-context.ts';

const kinds = ['START_TRANSACTION', 'COMMIT', 'ROLLBACK', 'SAVEPOINT', 'SET_TRANSACTION_ISOLATION'] as const;

export type TransactionCommand = Extract<PlainCommand, { kind: (typeof kinds)[number] }>;

export const isTransactional = (command: Command): command is TransactionCommand =>
  (kinds as readonly string[]).includes(command.kind);

export async function runTransactional(
  command: TransactionCommand,
  { service, request, session, transaction: { transaction }, place }: CommandContext,
): Promise<readonly Value[]> {
  if (command.kind === 'START_TRANSACTION') {
    const explicit = { ...request, transaction: { ...request.transaction, isImplicit: false } };
    const { start } = await beginTransaction(service, explicit, session);
    return [asValue({ txid: start.id })];
  }
  if (transaction === null) throw sqlError(17004, 'the request has no txid');
  await runWithin(command, transaction, { service, place });
  return [];
}

async function runWithin(
  command: Exclude<TransactionCommand, { kind: 'START_TRANSACTION' }>,
  transaction: Transaction,
  { service: { transactions }, place }: Pick<CommandContext, 'service' | 'place'>,
): Promise<void> {
  switch (command.kind) {
    case 'COMMIT':
      return await transactions.commit(transaction, place);
    case 'ROLLBACK':
      if (command.savepoint === undefined) return await transactions.rollback(transaction, place);
      return transaction.changes.rollbackTo(command.savepoint);
    case 'SAVEPOINT':
      return transaction.changes.setSavepoint(command.name);
    case 'SET_TRANSACTION_ISOLATION':
      transaction.isolation = command.isolation;
  }
}
