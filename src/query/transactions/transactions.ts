// The open transactions of a node: begins, finds and expires them. Their number and memory are bounded.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { leavingPlaceIfSlow, type StatementPlace } from '../data/temporary-failures.ts';
import { Transaction, type TransactionStart } from './transaction.ts';
import { commit, type EndingParts, rollback } from './transaction-end.ts';

export interface TransactionsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly ending: EndingParts;
}

const transactionsMax = 1_000;
/** The memory limit of all transactions. */
const bytesMax = 512 << 20;
/** How long an expired transaction is kept, so that its client gets the reason. */
const expiredKeptMs = 60_000;
/** The limit of expired transactions in memory; beyond it the oldest ones are unknown to their clients. */
export const expiredMax = 1_000;

export class Transactions {
  private readonly options: TransactionsOptions;
  private readonly open = new Map<string, Transaction>();
  /** The expired transactions of `open`, which are rolled back. */
  private readonly expired = new Set<Transaction>();
  private isStopped = false;

  constructor(options: TransactionsOptions) {
    this.options = options;
  }

  get data() {
    return this.options.ending.data;
  }

  all(): Transaction[] {
    return [...this.open.values()];
  }

  find(id: string): Transaction | undefined {
    return this.open.get(id);
  }

  /** @throws SqlError when too many transactions are open, or when their changes take too much memory */
  begin(start: TransactionStart): Transaction {
    if (this.isStopped) throw sqlError(1180);
    const isFull = this.all().filter(({ state }) => state === 'open').length >= transactionsMax;
    if (isFull)
      throw sqlError(17006, `Start Transaction statement error: ${transactionsMax} transactions are open`);
    if (this.open.has(start.id))
      throw sqlError(17006, 'Start Transaction statement error: there is a transaction of this id');
    this.checkMemory();
    const transaction = new Transaction(start, this.options.clock);
    this.open.set(start.id, transaction);
    transaction.timer = this.options.clock.after(start.timeoutMs, () => void this.expire(transaction));
    return transaction;
  }

  /** @throws SqlError 17016 */
  checkMemory(): void {
    const used = this.all().reduce((total, { changes }) => total + changes.usedBytes, 0);
    if (used > bytesMax) throw sqlError(17016, used, bytesMax);
  }

  /** `place`: the place of the statement, which other requests use while the data service takes long. */
  commit(transaction: Transaction, place: StatementPlace | undefined): Promise<void> {
    return this.finish(transaction, commit, place);
  }

  rollback(transaction: Transaction, place: StatementPlace | undefined): Promise<void> {
    return this.finish(transaction, rollback, place);
  }

  /** Rolls back the transaction for an administrator; returns false if there is none of this id. */
  end(id: string): boolean {
    const transaction = this.open.get(id);
    if (transaction === undefined) return false;
    transaction.isRemoved ||= transaction.state === 'open';
    void this.expire(transaction);
    return true;
  }

  /** Removes a transaction whose begin failed. */
  discard(transaction: Transaction): void {
    this.release(transaction);
  }

  /** Discards all transactions. The clean-up of lost attempts later removes changes that client libraries had staged for them. */
  stop(): void {
    this.isStopped = true;
    for (const transaction of this.all()) this.release(transaction);
  }

  private async finish(
    transaction: Transaction,
    end: typeof commit,
    place: StatementPlace | undefined,
  ): Promise<void> {
    const { clock, ending } = this.options;
    transaction.state = 'released'; // refuses further statements
    const ended = end(transaction, ending).finally(() => this.release(transaction));
    // The outcome of the transaction is answered even if its statement does not get the place again.
    await leavingPlaceIfSlow({ clock, place }, ended).catch(() => {});
    await ended;
  }

  private release(transaction: Transaction): void {
    transaction.state = 'released';
    transaction.timer?.cancel();
    transaction.changes.clear();
    this.open.delete(transaction.start.id);
    this.expired.delete(transaction);
  }

  /** Rolls the transaction back at its timeout, or for an administrator. A statement that runs fails when it ends. */
  private async expire(transaction: Transaction): Promise<void> {
    const { log, ending } = this.options;
    if (transaction.state !== 'open') return;
    transaction.state = 'expired';
    await transaction.enterLast();
    try {
      if (this.open.get(transaction.start.id) !== transaction) return;
      await rollback(transaction, ending);
    } catch (error) {
      log.warn('transaction.lost', { transaction: transaction.start.id, reason: String(error) });
    } finally {
      transaction.changes.clear();
      transaction.leave();
    }
    this.keepExpired(transaction);
  }

  private keepExpired(transaction: Transaction): void {
    transaction.timer = this.options.clock.after(expiredKeptMs, () => this.release(transaction));
    this.expired.add(transaction);
    const [oldest] = this.expired;
    if (oldest !== undefined && this.expired.size > expiredMax) this.release(oldest);
  }
}
