// A configuration store whose records are on other servers. Reads are answered from a mirror in memory, which one feed keeps up to date,
// so that they continue while no server can be reached; the servers make changes. The store refuses a state that is older than one seen
// before: it does not take it over and changes nothing in it.
import { UnavailableError } from '#base/unavailable-error.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { fraction, type Random } from '#ports/random.ts';
import { within } from '#ports/within.ts';
import type { ConfigStore, Entry } from '../config-store.ts';
import { WatchList } from '../watch-list.ts';
import { ConditionalWriter } from './conditional-writer.ts';
import { type ConfigLink, FinalError, type StoredRecord, type StoreHead } from './config-link.ts';
import { Records, WentBackError } from './records.ts';

/** The newest state that this node saw, over restarts. */
export interface SeenState {
  load(): StoreHead | null;
  save(head: StoreHead): void;
}

export interface MirroredStoreOptions {
  link: ConfigLink;
  seen: SeenState;
  clock: Clock;
  random: Random;
  log: Log;
  /** How long a change waits for a connection or an election, counted from the beginning of the outage. */
  changeWaitMs?: number;
}

const requestMs = 3_000;
/** Limit of the transfer of the whole state. */
const resyncMs = 30_000;
/** Interval of the checks that the feed is up to date. */
const pollMs = 5_000;
const pauseMinMs = 100;
const pauseMaxMs = 5_000;
const defaultChangeWaitMs = 10_000;
/** How long a change of this node waits for its record in the feed. */
const ownChangeMs = 2_000;
/** Delay before the newest revision is saved, so that many changes cost one write. */
const saveMs = 1_000;

export class MirroredConfigStore implements ConfigStore {
  readonly pace: { clock: Clock; random: Random };
  readonly #link: ConfigLink;
  readonly #seen: SeenState;
  readonly #log: Log;
  readonly #records: Records;
  readonly #changeWaitMs: number;
  readonly #watchers = new WatchList();
  readonly #writer: ConditionalWriter;
  readonly #stopping = new AbortController();
  /** Called after each change, and when the state of the connection changes. */
  readonly #wakes = new Set<() => void>();
  #identity: string | null;
  /** Null: the mirror follows the store. */
  #problem: string | null = 'not connected yet';
  #problemSinceMs: number;
  #running: Promise<void> = Promise.resolve();
  #saving: { cancel(): void } | null = null;
  #started = Promise.withResolvers<void>();

  constructor({ link, seen, clock, random, log, changeWaitMs = defaultChangeWaitMs }: MirroredStoreOptions) {
    const head = seen.load();
    this.#link = link;
    this.#seen = seen;
    this.#log = log;
    this.#changeWaitMs = changeWaitMs;
    this.pace = { clock, random };
    this.#problemSinceMs = clock.monotonicMs();
    this.#identity = head?.identity ?? null;
    this.#records = new Records(head?.revision ?? 0);
    this.#writer = new ConditionalWriter({
      ...{ link, clock, random, requestMs },
      known: (key) => this.#records.get(key),
      untilReady: (untilMs) => this.#until(() => this.#problem === null, untilMs),
    });
  }

  /**
   * Resolves once the mirror has the whole store; waits for servers that cannot be reached, and calls `waiting` with the reason.
   * @throws FinalError
   */
  async start(waiting: (reason: string) => void = () => {}): Promise<void> {
    this.#running = this.#run(waiting);
    await this.#started.promise;
  }

  /** Why changes cannot be made now; null if they can. */
  get problem(): string | null {
    return this.#problem;
  }

  async get<T>(key: string): Promise<Entry<T> | null> {
    return entryOf<T>(this.#records.get(key));
  }

  async list<T>(prefix: string): Promise<Entry<T>[]> {
    return this.#records.list(prefix).map((record) => entryOf<T>(record) as Entry<T>);
  }

  put<T>(key: string, value: T, expectedRevision: number): Promise<number | null> {
    return this.#change(key, JSON.stringify(value), expectedRevision);
  }

  async delete(key: string, expectedRevision: number): Promise<boolean> {
    return expectedRevision > 0 && (await this.#change(key, null, expectedRevision)) !== null;
  }

  async watch(prefix: string, changed: (key: string, entry: Entry | null) => void) {
    for (const record of this.#records.list(prefix)) changed(record.key, entryOf(record));
    return this.#watchers.add(prefix, changed);
  }

  revision(): number {
    return this.#records.revision;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('the store is closed'));
    this.#watchers.clear();
    this.#fail('it is closed');
    this.#started.reject(new Error('the store is closed'));
    this.#started.promise.catch(() => {});
    await this.#link[Symbol.asyncDispose]();
    await this.#running;
    if (this.#saving !== null) this.#save();
  }

  /** Null when another write came first. Resolves once the mirror shows what decided it. */
  async #change(key: string, json: string | null, expectedRevision: number): Promise<number | null> {
    const { clock } = this.pace;
    const since = this.#problem === null ? clock.monotonicMs() : this.#problemSinceMs;
    if (!(await this.#until(() => this.#problem === null, since + this.#changeWaitMs)))
      throw new UnavailableError(`Nothing was changed: ${this.#reason()}.`);
    const untilMs = clock.monotonicMs() + this.#changeWaitMs;
    const outcome = await this.#writer.write({ key, json, expectedRevision, untilMs });
    if (outcome.record !== null) await this.#awaitRecord(outcome.record);
    return outcome.revision;
  }

  #reason(): string {
    return `the configuration is stored by ${this.#link.name}, which cannot be used now: ${this.#problem}`;
  }

  /** Waits until the feed brings the record, so that watchers see changes in the store's order; without the feed, takes it directly. */
  async #awaitRecord(record: StoredRecord): Promise<void> {
    const isThere = (): boolean => (this.#records.get(record.key)?.revision ?? 0) >= record.revision;
    const untilMs = this.pace.clock.monotonicMs() + ownChangeMs;
    await this.#until(() => isThere() || this.#problem !== null, untilMs);
    this.#take(record);
  }

  #take(record: StoredRecord): void {
    if (!this.#records.take(record)) return;
    this.#saveSoon();
    this.#watchers.notify(record.key, entryOf(record));
    this.#wake();
  }

  async #until(isTrue: () => boolean, untilMs: number): Promise<boolean> {
    const { clock } = this.pace;
    if (isTrue()) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => {
      if (isTrue() || this.#stopping.signal.aborted) resolve();
    };
    this.#wakes.add(check);
    const timer = clock.after(Math.max(0, untilMs - clock.monotonicMs()), resolve);
    await promise;
    this.#wakes.delete(check);
    timer.cancel();
    return isTrue();
  }

  #wake(): void {
    for (const wake of [...this.#wakes]) wake();
  }

  async #run(waiting: (reason: string) => void): Promise<void> {
    const { clock, random } = this.pace;
    let pauseMs = pauseMinMs;
    while (!this.#stopping.signal.aborted) {
      const reason = await this.#follow(() => {
        pauseMs = pauseMinMs;
      });
      if (this.#stopping.signal.aborted) return;
      if (this.#problem !== reason.message) waiting(reason.message);
      this.#fail(reason.message);
      if (reason instanceof FinalError) this.#started.reject(reason);
      const restMs = pauseMs * (0.5 + fraction(random) / 2);
      await clock.sleep(restMs, this.#stopping.signal).catch(() => {});
      pauseMs = Math.min(2 * pauseMs, pauseMaxMs);
    }
  }

  #fail(reason: string): void {
    if (this.#problem === null) {
      this.#problemSinceMs = this.pace.clock.monotonicMs();
      this.#log.warn('configuration.unreachable', { store: this.#link.name, reason });
    }
    this.#problem = reason;
    this.#wake();
  }

  /** Connects, takes the whole state over, and follows the changes. Resolves with the reason why it ended. */
  async #follow(ready: () => void): Promise<Error> {
    let following: { stop(): void } | null = null;
    try {
      const head = await within(this.pace.clock, requestMs, this.#link.head());
      this.#checkHead(head);
      const lost = Promise.withResolvers<string>();
      const whole = Promise.withResolvers<void>();
      whole.promise.catch(() => {}); // awaited below
      let state: Map<string, StoredRecord> | null = new Map();
      following = await within(
        this.pace.clock,
        requestMs,
        this.#link.follow({
          changed: (record) => void (state === null ? this.#take(record) : state.set(record.key, record)),
          complete: () => whole.resolve(),
          lost(reason) {
            lost.resolve(reason);
            whole.reject(new Error(reason));
          },
        }),
      );
      await within(this.pace.clock, resyncMs, whole.promise);
      await this.#checkState(state, head);
      const records = [...state.values()].sort((a, b) => a.revision - b.revision);
      state = null;
      for (const record of records) this.#take(record);
      this.#setFollowed(head);
      ready();
      return new Error(await this.#untilLost(lost.promise));
    } catch (error) {
      return error as Error;
    } finally {
      following?.stop();
    }
  }

  #setFollowed(head: StoreHead): void {
    const isNew = this.#identity === null;
    this.#identity = head.identity;
    this.#records.revision = Math.max(this.#records.revision, head.revision);
    if (isNew) this.#save();
    else this.#saveSoon();
    if (this.#problem !== 'not connected yet')
      this.#log.info('configuration.reached', { store: this.#link.name, revision: head.revision });
    this.#problem = null;
    this.#started.resolve();
    this.#wake();
  }

  #checkHead({ identity, revision }: StoreHead, known = this.#records.revision): void {
    if (this.#identity !== null && identity !== this.#identity)
      throw new FinalError(
        `it is another store than before: it is named ${identity}, and this node used ${this.#identity}`,
      );
    if (revision < known) throw new WentBackError(`its newest revision is ${revision}, and was ${known}`);
  }

  async #checkState(state: Map<string, StoredRecord>, head: StoreHead): Promise<void> {
    for (const record of this.#records.missingFrom(state)) {
      if (!this.#link.keepsDeletions && (record.json === null || record.revision < head.revision)) {
        const revision = Math.max(record.revision, head.revision);
        state.set(record.key, { key: record.key, json: null, revision, writes: null });
        continue;
      }
      const found = await within(this.pace.clock, requestMs, this.#link.read(record.key));
      if (state.has(record.key) || found !== null) continue;
      if (record.json !== null) throw new WentBackError(`"${record.key}" is missing`);
      this.#records.forget(record.key);
    }
    this.#records.checkFollowedBy(state);
  }

  /** Reads the head from time to time, because a feed can stop without an error. */
  async #untilLost(lost: Promise<string>): Promise<string> {
    const { clock } = this.pace;
    let failures = 0;
    let behindAt = -1;
    for (;;) {
      const reason = await this.#poll(lost);
      if (reason !== null) return reason;
      const before = this.#records.revision;
      try {
        const head = await within(clock, requestMs, this.#link.head());
        failures = 0;
        this.#checkHead(head, before);
        const isBehind = head.revision > this.#records.revision;
        if (isBehind && behindAt === this.#records.revision) return 'its changes do not arrive';
        behindAt = isBehind ? this.#records.revision : -1;
      } catch (error) {
        const isCertain = error instanceof FinalError || error instanceof WentBackError;
        if (isCertain || ++failures > 1) return (error as Error).message;
      }
    }
  }

  /** The reason when the feed is lost, null after `pollMs`. */
  async #poll(lost: Promise<string>): Promise<string | null> {
    const late = Promise.withResolvers<null>();
    const timer = this.pace.clock.after(pollMs, () => late.resolve(null));
    const stop = (): void => late.resolve(null);
    this.#stopping.signal.addEventListener('abort', stop, { once: true });
    const reason = await Promise.race([lost, late.promise]);
    this.#stopping.signal.removeEventListener('abort', stop);
    timer.cancel();
    return this.#stopping.signal.aborted ? 'it is closed' : reason;
  }

  #saveSoon(): void {
    this.#saving ??= this.pace.clock.after(saveMs, () => this.#save());
  }

  #save(): void {
    this.#saving?.cancel();
    this.#saving = null;
    if (this.#identity === null) return;
    try {
      this.#seen.save({ identity: this.#identity, revision: this.#records.revision });
    } catch (error) {
      this.#log.warn('configuration.seen_not_kept', { reason: (error as Error).message });
    }
  }
}

/** Parses again, so that callers cannot change each other's values. */
function entryOf<T>(record: StoredRecord | undefined): Entry<T> | null {
  if (record === undefined || record.json === null) return null;
  return { key: record.key, value: JSON.parse(record.json) as T, revision: record.revision };
}
