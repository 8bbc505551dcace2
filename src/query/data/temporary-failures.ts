// Retries reads and writes after temporary failures of the data service: a bucket that is flushed or loads, a durable write of the same
// document, for reads also a lost connection.
import { deferred } from '#base/deferred.ts';
import type { PartialReplies, StoreReply, StoreRequest } from '#client/bucket-client.ts';
import { DataPortError, isTransient, StatusError, UnsentError } from '#client/data-port-error.ts';
import type { Clock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import type { BucketRefusals } from './bucket-refusals.ts';

/** The place of a statement among those that run at a time. */
export interface StatementPlace {
  /** Whether one more statement may wait without a place. */
  readonly mayLeave: boolean;
  /** Gives the place to other statements until `waiting` has resolved. @throws SqlError when too many statements wait for places then */
  without(waiting: () => Promise<void>): Promise<void>;
}

export interface RetryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Undefined: the caller is no statement, or its statement keeps its place. */
  readonly place?: StatementPlace | undefined;
  /** How long reads are repeated, by default 15 seconds. */
  readonly readLimitMs?: number;
}

/** While a durable write of the same document is in progress, pauses stay short: many transactions may wait for the same record. */
const pauseMs = { first: 10, most: 500, mostBehindWrite: 100 } as const;
/** How long to retry before the failure is returned. The copies of a node that was killed may serve its vbuckets ten seconds later. */
const totalMs = 15_000;
/**
 * After this time a statement that waits gives its place to others. Shorter waits, such as for the move of a vbucket, do not justify that the
 * statement queues for a place again.
 */
const placeMs = 200;

const nothing = (): void => {};

/** Retries `read`. Rejects with the last failure, or with the signal's reason. */
export async function retryTemporary<T>(options: RetryOptions, read: () => Promise<T>): Promise<T> {
  const attempt = (): Promise<T> => leavingPlaceIfSlow(options, read());
  try {
    return await attempt();
  } catch (error) {
    return await retryAfter(error, options, attempt);
  }
}

/** Waits for a read or a durable write. If it takes long, for example because a node hangs, other statements get the place meanwhile. */
export async function leavingPlaceIfSlow<T>(
  { clock, place }: Pick<RetryOptions, 'clock' | 'place'>,
  working: Promise<T>,
): Promise<T> {
  if (place === undefined) return await working;
  const ended = working.then(nothing, nothing);
  const slow = deferred<'slow'>();
  const timer = clock.after(placeMs, () => slow.resolve('slow'));
  const first = await Promise.race([ended, slow.promise]);
  timer.cancel();
  if (first === 'slow' && place.mayLeave) await place.without(() => ended);
  return await working;
}

/** Retries a read that failed with `failure`. */
export function retryAfter<T>(failure: unknown, options: RetryOptions, read: () => Promise<T>): Promise<T> {
  const { readLimitMs: limitMs = totalMs } = options;
  return retried(failure, { ...options, limitMs, mayRetry: isTemporary }, read);
}

interface LimitedRetryOptions extends RetryOptions {
  readonly limitMs: number;
  readonly mayRetry: (error: unknown) => boolean;
}

async function retried<T>(
  failure: unknown,
  options: LimitedRetryOptions,
  attempt: () => Promise<T>,
): Promise<T> {
  const retries = new Retries(failure, options, attempt);
  await retryWithin(options.limitMs, retries, options.place);
  return retries.result();
}

interface Repeated {
  /** Whether something is left to repeat before the limit. */
  readonly mayContinue: boolean;
  /** Repeats until nothing is left to repeat, or until this time after the first attempt. */
  within(limitMs: number): Promise<void>;
}

/** Repeats within the limit. After `placeMs` other statements get the place; a statement that may not give its place away fails then. */
async function retryWithin(limitMs: number, repeated: Repeated, place?: StatementPlace): Promise<void> {
  await repeated.within(Math.min(placeMs, limitMs));
  if (place === undefined) await repeated.within(limitMs);
  else if (repeated.mayContinue && place.mayLeave) await place.without(() => repeated.within(limitMs));
}

class Retries<T> implements Repeated {
  private readonly options: LimitedRetryOptions;
  private readonly attempt: () => Promise<T>;
  private readonly startedMs: number;
  private delayMs: number = pauseMs.first;
  private failure: unknown;
  private found: { readonly value: T } | null = null;

  constructor(failure: unknown, options: LimitedRetryOptions, attempt: () => Promise<T>) {
    this.failure = failure;
    this.options = options;
    this.attempt = attempt;
    this.startedMs = options.clock.monotonicMs();
  }

  get mayContinue(): boolean {
    return this.found === null && this.options.mayRetry(this.failure);
  }

  /** Retries until this time after the first failure. Rejects with the signal's reason only. */
  async within(limitMs: number): Promise<void> {
    const { clock, signal } = this.options;
    while (this.mayContinue && clock.monotonicMs() - this.startedMs + this.delayMs <= limitMs) {
      await clock.sleep(this.delayMs, signal);
      this.delayMs = Math.min(2 * this.delayMs, pauseMs.most);
      try {
        this.found = { value: await this.attempt() };
      } catch (error) {
        this.failure = error;
      }
    }
  }

  /** Throws the last failure if no attempt succeeded. */
  result(): T {
    if (this.found === null) throw this.failure;
    return this.found.value;
  }
}

type Write = Pick<StoreRequest, 'key' | 'kind'>;

interface WriteOptions {
  /** By default 15 seconds. */
  limitMs?: number;
  replies?: PartialReplies;
  /** The refusals of the bucket so far; those behind durable writes do not count. */
  refusals?: BucketRefusals | undefined;
}

/**
 * Sends writes. Those that are refused for a temporary reason are sent again, for `limitMs`, and those of a node that cannot be reached. A write
 * whose outcome is unknown, as after a lost connection, is not sent again: then `replies` has the replies to the other writes.
 */
export async function retryWrites<T extends Write>(
  options: RetryOptions,
  writes: readonly T[],
  send: (some: readonly T[], replies: PartialReplies) => Promise<unknown>,
  { limitMs = totalMs, replies = [], refusals }: WriteOptions = {},
): Promise<StoreReply[]> {
  const sending = new SentWrites(options, writes, send, { limitMs, replies, refusals });
  await sending.sendFirst();
  await retryWithin(limitMs, sending, options.place);
  return replies as StoreReply[];
}

class SentWrites<T extends Write> implements Repeated {
  private readonly options: RetryOptions;
  private readonly writes: readonly T[];
  private readonly sendNow: (some: readonly T[], replies: PartialReplies) => Promise<unknown>;
  private readonly limitMs: number;
  private readonly replies: PartialReplies;
  private readonly refusals: BucketRefusals | undefined;
  private readonly startedMs: number;
  private delayMs: number = pauseMs.first;

  constructor(
    options: RetryOptions,
    writes: readonly T[],
    sendNow: (some: readonly T[], replies: PartialReplies) => Promise<unknown>,
    { limitMs, replies, refusals }: WriteOptions & { limitMs: number; replies: PartialReplies },
  ) {
    this.options = options;
    this.writes = writes;
    this.sendNow = sendNow;
    this.limitMs = limitMs;
    this.replies = replies;
    this.refusals = refusals;
    this.startedMs = options.clock.monotonicMs();
  }

  async sendFirst(): Promise<void> {
    await this.send(this.writes, this.replies);
    this.countAccepted(this.replies);
  }

  get mayContinue(): boolean {
    return this.nextRound(this.limitMs).length > 0;
  }

  /** Sends refused writes again until this time after the start. */
  async within(limitMs: number): Promise<void> {
    for (;;) {
      const refused = this.nextRound(limitMs);
      if (refused.length === 0) return;
      await this.sendAgain(refused);
    }
  }

  /** The positions of the writes to send again; empty: all were made, or the time is over. */
  private nextRound(limitMs: number): readonly number[] {
    const all = this.replies as StoreReply[];
    if (!all.some(({ status }) => isTransient(status))) return [];
    const nowMs = this.options.clock.monotonicMs();
    const endMs = this.startedMs + limitMs;
    const untilMs = all.some(isBehindWrite) ? endMs : Math.min(endMs, this.refusals?.untilMs(nowMs) ?? endMs);
    return nowMs + this.delayMs > untilMs ? [] : refusedOf(this.writes, all);
  }

  private async sendAgain(refused: readonly number[]): Promise<void> {
    const { replies, options } = this;
    const isBehind = (replies as StoreReply[]).some(isBehindWrite);
    // Unknown until they are answered again.
    for (const at of refused) replies[at] = undefined;
    await options.clock.sleep(this.delayMs, options.signal);
    this.delayMs = Math.min(2 * this.delayMs, isBehind ? pauseMs.mostBehindWrite : pauseMs.most);
    const again: PartialReplies = [];
    try {
      await this.send(
        refused.map((at) => this.writes[at] as T),
        again,
      );
    } finally {
      for (const [index, at] of refused.entries()) replies[at] = again[index];
    }
    this.countAccepted(again);
  }

  private async send(some: readonly T[], answered: PartialReplies): Promise<void> {
    const { options, startedMs } = this;
    try {
      await this.sendNow(some, answered);
    } catch (error) {
      const limitMs = startedMs + this.limitMs - options.clock.monotonicMs();
      await retried(error, { ...options, limitMs, mayRetry: isUnsent }, () => this.sendNow(some, answered));
    }
  }

  /** Only a successful write of the latest replies shows that the bucket accepts writes: one that failed since the key exists needed no space. */
  private countAccepted(latest: PartialReplies): void {
    if (latest.some((reply) => reply?.status === Status.success)) this.refusals?.accepted();
  }
}

/** The refused writes, and those that replaced the document of one of them: the last write of a key remains the last one. */
function refusedOf(writes: readonly Write[], replies: readonly StoreReply[]): number[] {
  const keys = new Set<string>();
  return replies.flatMap(({ status }, at) => {
    const { key, kind } = writes[at] as Write;
    if (isTransient(status)) keys.add(key);
    return isTransient(status) || (kind === 'set' && keys.has(key)) ? [at] : [];
  });
}

const isBehindWrite = ({ status }: StoreReply): boolean =>
  status === Status.syncWriteInProgress || status === Status.syncWriteRecommitInProgress;

const isUnsent = (error: unknown): boolean => error instanceof UnsentError;

const isTemporary = (error: unknown): boolean =>
  error instanceof DataPortError || (error instanceof StatusError && isTransient(error.status));
