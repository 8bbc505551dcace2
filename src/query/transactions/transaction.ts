// One open transaction: its options, its changes, and the queue of its statements.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Durability } from '#sqlpp/datastore/documents.ts';
import type { KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { ScanConsistency } from '../request/query-request.ts';
import { StagedChanges } from './staged-changes.ts';
import { expired, removed } from './transaction-failure.ts';

/** The document that records an attempt. */
export interface RecordLocation {
  readonly bucket: string;
  readonly scope: string;
  readonly collection: string;
  /** null: in the vbucket of the first document that the transaction changes. */
  readonly id: string | null;
}

export interface TransactionStart {
  /** The id of this attempt; client libraries run several attempts of one transaction. */
  readonly id: string;
  readonly transactionId: string;
  readonly users: readonly string[];
  readonly timeoutMs: number;
  readonly kvTimeoutMs: number;
  readonly durability: Durability;
  readonly consistency: ScanConsistency;
  /** null: the default collection of the first changed document's bucket. */
  readonly recordLocation: RecordLocation | null;
  /** True if a client library has recorded the attempt already. */
  readonly isRecorded: boolean;
  readonly isImplicit: boolean;
  readonly memoryBytesMax: number;
}

export type TransactionState = 'open' | 'expired' | 'released';

export class Transaction {
  readonly start: TransactionStart;
  readonly changes = new StagedChanges();
  readonly startedMs: number;
  readonly startedWallMs: number;
  /** The record of the attempt; null before it is written. */
  record: { readonly keyspace: KeyspaceName; readonly id: string } | null = null;
  state: TransactionState = 'open';
  /** Whether an administrator ended the transaction. */
  isRemoved = false;
  isolation = 'READ COMMITTED';
  statementNumber = 0;
  uses = 0;
  lastUseWallMs: number;
  isBusy = false;
  /** Expires the transaction, and later releases the expired one. */
  timer: Timer | null = null;
  private readonly clock: Clock;
  private readonly waiting: (() => void)[] = [];

  constructor(start: TransactionStart, clock: Clock) {
    this.start = start;
    this.clock = clock;
    this.startedMs = clock.monotonicMs();
    this.startedWallMs = clock.wallMs();
    this.lastUseWallMs = this.startedWallMs;
  }

  get leftMs(): number {
    return this.start.timeoutMs - (this.clock.monotonicMs() - this.startedMs);
  }

  get elapsedMs(): number {
    return this.clock.monotonicMs() - this.startedMs;
  }

  /** @throws SqlError 17010 if the transaction has expired or was removed, 17011 if it was released */
  checkOpen(): void {
    if (this.state === 'released') throw sqlError(17011);
    if (this.isRemoved) throw removed();
    if (this.state === 'expired' || this.leftMs <= 0) throw expired();
  }

  /** Refuses a statement whose number is not higher than that of the previous one. @throws SqlError 17005 */
  checkOrder(number: number | null): void {
    if (number === null || number <= 0) return;
    if (number <= this.statementNumber) throw sqlError(17005, this.statementNumber, number);
    this.statementNumber = number;
  }

  /** Serializes statements: resolves when the caller may run. */
  async enter(waitingMax: number, signal: AbortSignal): Promise<void> {
    this.checkOpen();
    if (this.isBusy) await this.waitForTurn(waitingMax, signal);
    this.isBusy = true; // stays true in `leave` while statements wait
    try {
      this.checkOpen();
    } catch (error) {
      this.leave();
      throw error;
    }
    this.uses++;
    this.lastUseWallMs = this.clock.wallMs();
  }

  /** For commit and rollback: waits for the running statement and for those that were queued before. */
  async enterLast(): Promise<void> {
    if (this.isBusy) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.isBusy = true;
  }

  leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.isBusy = false;
    else next();
  }

  /** @throws SqlError 17016 if the changes take too much memory */
  checkMemory(): void {
    const { usedBytes } = this.changes;
    if (usedBytes > this.start.memoryBytesMax) throw sqlError(17016, usedBytes, this.start.memoryBytesMax);
  }

  private waitForTurn(waitingMax: number, signal: AbortSignal): Promise<void> {
    if (this.waiting.length >= waitingMax) throw sqlError(17021);
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      const abort = (): void => {
        const at = this.waiting.indexOf(begin);
        if (at >= 0) this.waiting.splice(at, 1);
        reject(signal.reason as Error);
      };
      this.waiting.push(begin);
      signal.addEventListener('abort', abort, { once: true });
    });
  }
}
