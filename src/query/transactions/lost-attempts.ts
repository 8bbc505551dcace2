// Finds and cleans up lost attempts: those that a crash of the node left between staging and commit, and those whose commit or rollback
// failed. It searches the collections in which this service has recorded attempts, after a crash and as long as attempts remain. When another node
// has gone, it searches all collections once, since a request can name any for its records, and then those in which attempts remain.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { type Keyspace, type KeyspaceName, keyspaceText } from '#sqlpp/datastore/keyspace.ts';
import { type BucketState, collectionName } from '../data/keyspaces.ts';
import { allAtrIds } from './atr-ids.ts';
import { msOfCas } from './attempt-json.ts';
import { AttemptRecord, isLost, msUntilLost, readRecords } from './attempt-record.ts';
import { cleanUp } from './clean-up.ts';
import type { TransactionData } from './transaction-data.ts';

/** The collections in which this service may have left attempts; persisted. */
export interface AttemptCollections {
  all(): readonly KeyspaceName[];
  add(collection: KeyspaceName): void;
  clear(): void;
}

export interface LostAttemptsOptions {
  readonly data: TransactionData;
  readonly collections: AttemptCollections;
  readonly clock: Clock;
  readonly log: Log;
  /** The interval of searches while attempts may remain. */
  readonly windowMs: () => number;
  /** Whether the setting `cleanuplostattempts` enables the clean-up. */
  readonly isOn: () => boolean;
}

const limits = { durability: 'majority', kvTimeoutMs: 10_000 } as const;
/** The interval of retries while the data service cannot be reached. */
const retryPauseMs = 1_000;
/** The longest interval of searches. */
const windowMsMax = 3_600_000;
/** The clocks of two nodes differ by less. */
const clocksDifferMs = 60_000;
/** Attempts that are cleaned up at a time: each waits ten seconds for a data service that does not answer. */
export const cleaningMax = 16;

export class LostAttempts {
  private readonly options: LostAttemptsOptions;
  /** The number of recorded attempts of this process that have not ended. */
  private running = 0;
  /** True if an earlier process may have left attempts. */
  private mayBeLeft: boolean;
  /**
   * Nodes that are gone may have recorded attempts until this time, in milliseconds since 1970; null: no node has gone, or all attempts of those
   * nodes have been cleaned up.
   */
  private othersUntilMs: number | null = null;
  /** The collections in which the last search found attempts that other nodes may have left; null: all collections have to be searched. */
  private othersIn: readonly KeyspaceName[] | null = null;
  /** Buckets that searches did not find, although the node had other buckets, and when the first of these searches was. */
  private readonly missing = new Map<string, number>();
  private timer: { readonly dueMs: number; readonly timer: Timer } | null = null;
  private isSweeping = false;
  private isStopped = false;

  constructor(options: LostAttemptsOptions) {
    this.options = options;
    this.mayBeLeft = options.collections.all().length > 0;
    if (this.mayBeLeft) this.sweepIn(0);
  }

  /** Called before an attempt is recorded in the collection. */
  began(collection: KeyspaceName): void {
    this.running++;
    this.options.collections.add(collection);
  }

  /** Called when an attempt of this process has ended. `mayRemain`: it may still be in its record, to be cleaned up. */
  ended(mayRemain: boolean): void {
    this.running--;
    if (!mayRemain) return;
    this.mayBeLeft = true;
    this.sweepIn(this.windowMs());
  }

  /** Call when another node has gone, or may have before this service began: nobody else cleans up its attempts. */
  searchForOthers(): void {
    this.othersUntilMs = this.options.clock.wallMs() + clocksDifferMs;
    this.othersIn = null;
    this.sweepIn(this.windowMs());
  }

  stop(): void {
    this.isStopped = true;
    this.timer?.timer.cancel();
    if (!this.mayBeLeft && this.running === 0) this.options.collections.clear();
  }

  /** Cleans up all lost attempts; resolves with the milliseconds until another may be lost, or with null if none remain. */
  async sweep(): Promise<number | null> {
    let next: number | null = null;
    const remaining: KeyspaceName[] = [];
    /** Collections of buckets whose data service did not answer for an earlier collection: each would wait ten seconds for it. */
    const postponed: KeyspaceName[] = [];
    const unanswered = new Set<string>();
    const { othersUntilMs } = this;
    for (const { name } of this.options.data.buckets()) this.missing.delete(name);
    for (const [collection, untilMs] of this.searched()) {
      const { bucket } = collection;
      const isOwn = untilMs === Infinity;
      if (!isOwn && unanswered.has(bucket)) {
        postponed.push(collection);
        continue;
      }
      const keyspace = this.options.data.find(collection);
      const failed = () => !isOwn && unanswered.add(bucket);
      const ms =
        typeof keyspace === 'string'
          ? this.msUntilFound(bucket, keyspace)
          : await this.orRetry(() => this.sweepCollection(keyspace, untilMs), failed);
      next = earlier(next, ms);
      if (ms !== null) remaining.push(collection);
    }
    // Unless another node has gone meanwhile. The next search begins with the postponed ones, so that one collection that fails each time
    // does not keep others from being searched.
    if (this.othersUntilMs === othersUntilMs) this.othersIn = [...postponed, ...remaining];
    return next;
  }

  /** The collections to search, each with the time after which attempts in it are no longer of interest: nodes that run clean theirs up. */
  private searched(): (readonly [KeyspaceName, untilMs: number])[] {
    const { collections, data } = this.options;
    const own = this.mayBeLeft || this.othersUntilMs === null ? collections.all() : [];
    const searched = own.map((collection) => [collection, Infinity] as const);
    if (this.othersUntilMs === null) return searched;
    const names = new Set(own.map(keyspaceText));
    for (const collection of this.othersIn ?? data.buckets().flatMap(collectionsIn))
      if (!names.has(keyspaceText(collection))) searched.push([collection, this.othersUntilMs]);
    return searched;
  }

  private windowMs(): number {
    return Math.min(Math.max(this.options.windowMs(), retryPauseMs), windowMsMax);
  }

  /** A search that is due earlier stays: attempts that fail repeatedly must not postpone it without end. */
  private sweepIn(ms: number): void {
    const { clock } = this.options;
    const dueMs = clock.monotonicMs() + ms;
    if (this.isStopped || (this.timer !== null && this.timer.dueMs <= dueMs)) return;
    this.timer?.timer.cancel();
    const sweep = () => {
      this.timer = null;
      void this.sweepOnce();
    };
    this.timer = { dueMs, timer: clock.after(ms, sweep) };
  }

  private async sweepOnce(): Promise<void> {
    if (!this.options.isOn()) return this.sweepIn(this.windowMs());
    // The search that runs may have passed the record of the attempt for which this one was planned, and must not decide that none remain.
    if (this.isSweeping) return this.sweepIn(retryPauseMs);
    this.isSweeping = true;
    const { othersUntilMs } = this;
    const next = await this.sweep();
    this.isSweeping = false;
    // Unless another node has gone meanwhile.
    if (next === null && this.othersUntilMs === othersUntilMs) this.othersUntilMs = null;
    this.mayBeLeft = next !== null || this.timer !== null; // another may have been lost meanwhile
    if (next !== null) this.sweepIn(Math.min(next, this.windowMs()));
  }

  private async sweepCollection(keyspace: Keyspace, untilMs: number): Promise<number | null> {
    const { data } = this.options;
    const cleaning = { data, isDropped: (bucket: string) => this.isDropped(bucket) };
    const ids = allAtrIds();
    const records = await readRecords(data, keyspace, ids, limits);
    const lost: (() => Promise<number | null>)[] = [];
    let next: number | null = null;
    for (const [at, { attempts, nowMs }] of records.entries())
      for (const [attempt, entry] of attempts) {
        const record = new AttemptRecord(data, keyspace, ids[at] as string, limits);
        const clean = async () => ((await cleanUp(cleaning, record, attempt, entry)) ? null : retryPauseMs);
        if (isLost(entry, nowMs)) lost.push(clean);
        else if (msOfCas(entry.tst) <= untilMs) next = earlier(next, msUntilLost(entry, nowMs));
      }
    return earlier(next, await this.runAll(lost));
  }

  /** Runs at most `cleaningMax` at a time, and returns the time until the first of those that failed is retried; null if none failed. */
  private async runAll(all: readonly (() => Promise<number | null>)[]): Promise<number | null> {
    const waiting = all.values();
    let next: number | null = null;
    const work = async (): Promise<void> => {
      for (const run of waiting) {
        const again = await this.orRetry(run);
        next = earlier(next, again);
      }
    };
    await Promise.all(Array.from({ length: cleaningMax }, work));
    return next;
  }

  /** If `run` fails, logs the failure and returns when to retry, so that the search continues. */
  private async orRetry(run: () => Promise<number | null>, failed?: () => void): Promise<number | null> {
    if (this.isStopped) return retryPauseMs;
    try {
      return await run();
    } catch (error) {
      this.options.log.info('transaction.cleanup_failed', { reason: String(error) });
      failed?.();
      return retryPauseMs;
    }
  }

  private msUntilFound(bucket: string, missing: 'no bucket' | 'no scope' | 'no collection'): number | null {
    // A collection that is missing in its bucket was dropped with its records.
    return missing !== 'no bucket' || this.isDropped(bucket) ? null : this.windowMs();
  }

  /**
   * A node that starts, or was failed over, does not have any bucket yet, or not all. A bucket that it does not have for the interval of two
   * searches, although it has other buckets, was dropped.
   */
  private isDropped(bucket: string): boolean {
    const { data, clock } = this.options;
    if (data.buckets().length === 0) return false;
    const nowMs = clock.monotonicMs();
    const sinceMs = this.missing.get(bucket) ?? nowMs;
    this.missing.set(bucket, sinceMs);
    return nowMs - sinceMs >= this.windowMs();
  }
}

const collectionsIn = ({ name, scopes }: BucketState): KeyspaceName[] =>
  scopes.flatMap((scope) => scope.collections.map((each) => collectionName(name, scope.name, each.name)));

const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);
