// The transaction that a request runs in: one that it names, one of its statement alone, or none.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Datastore, PreparedStatement } from '#sqlpp/run/engine.ts';
import type { Session } from '../access/session.ts';
import type { StatementPlace } from '../data/temporary-failures.ts';
import { durationText } from '../request/duration.ts';
import type { QueryRequest } from '../request/query-request.ts';
import type { QueryParts } from '../state/parts.ts';
import type { Transaction } from '../transactions/transaction.ts';
import { TransactionDocuments, transactionIndexes } from '../transactions/transaction-documents.ts';
import { otherAttemptsOf } from '../transactions/transaction-end.ts';
import { beginTransaction } from './begin-transaction.ts';

/** The limit of queued statements of one transaction. */
const waitingMax = 16;

export class RequestTransaction {
  readonly transaction: Transaction | null;
  /** The request began the transaction for its only statement. */
  readonly isImplicit: boolean;
  private readonly service: QueryParts;
  private documents: TransactionDocuments | null = null;

  private constructor(service: QueryParts, transaction: Transaction | null, isImplicit: boolean) {
    this.service = service;
    this.transaction = transaction;
    this.isImplicit = isImplicit;
  }

  /**
   * Waits until the transaction that the request names runs no other statement.
   * @throws SqlError when it does not exist or has ended, or the statement number is out of order
   */
  static enter(
    service: QueryParts,
    request: QueryRequest,
    session: Session,
    signal: AbortSignal,
  ): RequestTransaction | Promise<RequestTransaction> {
    const { id, statementNumber } = request.transaction;
    if (id === null || id === '') return new RequestTransaction(service, null, false);
    return RequestTransaction.enterNamed(service, id, { statementNumber, session, signal });
  }

  private static async enterNamed(
    service: QueryParts,
    id: string,
    {
      statementNumber,
      session,
      signal,
    }: {
      statementNumber: QueryRequest['transaction']['statementNumber'];
      session: Session;
      signal: AbortSignal;
    },
  ): Promise<RequestTransaction> {
    const transaction = openOf(service, id, session);
    await transaction.enter(waitingMax, signal);
    const entered = new RequestTransaction(service, transaction, false);
    try {
      transaction.checkOrder(statementNumber);
    } catch (error) {
      entered.leave();
      throw error;
    }
    return entered;
  }

  /** Begins the transaction of a request that asks for one of its own. */
  static async begin(
    service: QueryParts,
    request: QueryRequest,
    session: Session,
    signal: AbortSignal,
  ): Promise<RequestTransaction> {
    const transaction = await beginTransaction(service, { ...request, ...withoutData(request) }, session);
    await transaction.enter(waitingMax, signal);
    return new RequestTransaction(service, transaction, true);
  }

  /** The stored data, with the changes of the transaction over it. */
  datastore(stored: Datastore): Datastore {
    const { transaction, service } = this;
    if (transaction === null) return stored;
    const { data } = service.transactions;
    const otherAttempts = otherAttemptsOf(data, transaction);
    const documents = new TransactionDocuments(
      stored.documents,
      transaction,
      otherAttempts,
      service.deps.clock,
    );
    this.documents = documents;
    return {
      ...stored,
      documents,
      indexes: transactionIndexes(stored.indexes, transaction, documents),
    };
  }

  /** @throws SqlError 17002 for a statement that must not run here */
  check(kind: PreparedStatement['kind']): void {
    checkAllowed(kind, this.transaction === null ? 'outside' : this.isImplicit ? 'implicit' : 'within');
  }

  /**
   * Ends the statement; with errors its changes are discarded. `pause` lets other requests run.
   * @throws SqlError 17010 when the transaction expired while the statement ran, and those of the commit of an implicit transaction
   */
  async end(
    errors: readonly unknown[],
    place: StatementPlace | undefined,
    pause: () => Promise<void>,
  ): Promise<void> {
    const { transaction, service, isImplicit } = this;
    if (transaction === null || transaction.state === 'released') return;
    if (errors.length > 0) return this.fail();
    transaction.checkOpen();
    for (const _step of transaction.changes.acceptInSteps()) await pause();
    if (isImplicit) await service.transactions.commit(transaction, place);
    else service.transactions.checkMemory();
  }

  /** Discards the changes of a failed statement. */
  fail(): void {
    this.transaction?.changes.undoStatement();
  }

  /** Times of the transaction for the answer's metrics. */
  times(): { transactionElapsedTime?: string; transactionRemainingTime?: string } {
    const { transaction } = this;
    if (transaction === null) return {};
    return {
      transactionElapsedTime: durationText(transaction.elapsedMs),
      ...(transaction.leftMs > 0 && { transactionRemainingTime: durationText(transaction.leftMs) }),
    };
  }

  /** The request has ended: the next statement of the transaction may run. An implicit transaction that was not committed is rolled back. */
  leave(): void {
    const { transaction, service, isImplicit } = this;
    if (transaction === null) return;
    this.documents?.close();
    transaction.changes.undoStatement();
    transaction.leave();
    if (isImplicit && transaction.state !== 'released')
      void service.transactions.rollback(transaction, undefined);
  }
}

/** A statement of a transaction has the transaction's consistency unless it sets its own. */
export function consistencyIn(
  within: RequestTransaction | null,
  request: QueryRequest,
): Pick<QueryRequest, 'consistency' | 'scanVector' | 'scanVectors'> {
  const { transaction = null } = within ?? {};
  if (transaction === null || request.isConsistencySet) return request;
  return { ...request, consistency: transaction.start.consistency };
}

/** Another user's transaction is reported as absent. */
function openOf(service: QueryParts, id: string, session: Session): Transaction {
  const transaction = service.transactions.find(id);
  const isOwn = transaction?.start.users.join() === session.users.join();
  if (transaction === undefined || !isOwn) throw sqlError(17004, `transaction (${id}) is not present`);
  return transaction;
}

/** The request without `txdata`, which describes a transaction that a client library has begun. */
const withoutData = (request: QueryRequest): Pick<QueryRequest, 'transaction'> => ({
  transaction: { ...request.transaction, data: undefined },
});

/** Kinds of statements that may run inside and outside of a transaction. */
const anywhere: ReadonlySet<string> = new Set([
  'SELECT',
  'INSERT',
  'UPSERT',
  'UPDATE',
  'DELETE',
  'MERGE',
  'EXECUTE',
  'PREPARE',
  'EXPLAIN',
  'EXECUTE_FUNCTION',
]);
/** Kinds that may run inside only; all others run outside only. */
const withinOnly: ReadonlySet<string> = new Set([
  'COMMIT',
  'ROLLBACK',
  'SAVEPOINT',
  'SET_TRANSACTION_ISOLATION',
]);

/** @throws SqlError 17002 */
function checkAllowed(kind: PreparedStatement['kind'], where: 'outside' | 'within' | 'implicit'): void {
  if (anywhere.has(kind)) return;
  if (withinOnly.has(kind)) {
    if (where !== 'within') throw sqlError(17002, kind, 'outside the');
    return;
  }
  if (where === 'within') throw sqlError(17002, kind, 'within the');
  if (where === 'implicit' && kind !== 'START_TRANSACTION') throw sqlError(17002, kind, 'in implicit');
}
