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
import {
  type ConfigLink,
  FinalError,
  type StoreContent,
  type StoredRecord,
  type StoreHead,
  supersedes,
} from './config-link.ts';
import { entryOf, Records, WentBackError } from './records.ts';
import { SavedState, type SeenState, type StoreCopy } from './saved-state.ts';

export interface MirroredStoreOptions {
  link: ConfigLink;
  seen: SeenState;
  clock: Clock;
  random: Random;
  log: Log;
  /** How long a change waits for a connection or an election, counted from the beginning of the outage. */
  changeWaitMs?: number;
  /** Where the records are stored, and what was found there at the start; `found` null: nothing that can be trusted. */
  copy?: { readonly file: StoreCopy; readonly found: StoreContent | null };
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

const takenOverNow = 'another member of the cluster is taking the configuration over';

export class MirroredConfigStore implements ConfigStore {
  readonly ports: { clock: Clock; random: Random };
  readonly #link: ConfigLink;
  readonly #saved: SavedState;
  readonly #log: Log;
  readonly #records: Records;
  readonly #changeWaitMs: number;
  readonly #watchers = new WatchList();
  readonly #writer: ConditionalWriter;
  readonly #stopping = new AbortController();
  /** Called after each change, and when the state of the connection changes. */
  readonly #wakes = new Set<() => void>();
  /** The store that this node follows; its revision is that of the records. Null: none yet. */
  #followed: StoreHead | null;
  /** The records of the copy are there from the start. */
  readonly #hasCopy: boolean;
  /** Another member is about to take the store over: nothing is read from the earlier founder. */
  #isFenced = false;
  #following: { stop(): void } | null = null;
  #resting = new AbortController();
  /** Null: the mirror follows the store. */
  #problem: string | null = 'not connected yet';
  #problemSinceMs: number;
  #running: Promise<void> = Promise.resolve();
  #isStarted = false;
  #started = Promise.withResolvers<void>();

  constructor(options: MirroredStoreOptions) {
    const { link, seen, clock, random, log, copy, changeWaitMs = defaultChangeWaitMs } = options;
    const head = seen.load();
    this.#link = link;
    this.#log = log;
    this.#changeWaitMs = changeWaitMs;
    this.ports = { clock, random };
    this.#problemSinceMs = clock.monotonicMs();
    this.#followed = head;
    this.#records = new Records(head?.revision ?? 0);
    const found = head === null ? null : (copy?.found ?? null);
    this.#hasCopy = found !== null;
    for (const record of found?.records ?? []) this.#records.take(record);
    this.#records.revision = Math.max(this.#records.revision, found?.revision ?? 0);
    this.#saved = new SavedState({
      seen,
      copy: copy?.file ?? null,
      clock,
      log,
      head: () => this.head,
      record: (key) => this.#records.get(key),
    });
    this.#writer = new ConditionalWriter({
      link,
      clock,
      random,
      requestMs,
      mirrored: (key) => this.#records.get(key),
      untilReady: (untilMs) => this.#until(() => this.#problem === null, untilMs),
    });
  }

  /**
   * Resolves once the mirror has the whole store; waits for servers that cannot be reached, and calls `waiting` with the reason. With a
   * copy it does not wait for them.
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

  /** The store that this node follows, at the revision that it has seen; null: none yet. */
  get head(): StoreHead | null {
    return this.#followed && { ...this.#followed, revision: this.#records.revision };
  }

  /** All records that were not deleted. */
  get state(): StoreContent {
    return { revision: this.#records.revision, records: this.#records.list('') };
  }

  /** Reads nothing more from the present founder until `release`, except after another one took over. */
  fence(): void {
    this.#isFenced = true;
    this.#fail(takenOverNow);
    this.#following?.stop();
  }

  release(): void {
    this.#isFenced = false;
    this.retry();
  }

  /** Tries to connect now. */
  retry(): void {
    this.#resting.abort(new Error('tries again'));
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
    this.#saved.close();
  }

  /** Null when another write came first. Resolves once the mirror shows what decided it. */
  async #change(key: string, json: string | null, expectedRevision: number): Promise<number | null> {
    const { clock } = this.ports;
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
    const hasArrived = (): boolean => (this.#records.get(record.key)?.revision ?? 0) >= record.revision;
    const untilMs = this.ports.clock.monotonicMs() + ownChangeMs;
    await this.#until(() => hasArrived() || this.#problem !== null, untilMs);
    this.#take(record);
  }

  #take(record: StoredRecord): void {
    if (!this.#records.take(record)) return;
    this.#saved.changed(record.key);
    this.#watchers.notify(record.key, entryOf(record));
    this.#wake();
  }

  async #until(isTrue: () => boolean, untilMs: number): Promise<boolean> {
    const { clock } = this.ports;
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
    const { random } = this.ports;
    let pauseMs = pauseMinMs;
    while (!this.#stopping.signal.aborted) {
      const reason = await this.#follow(() => {
        pauseMs = pauseMinMs;
      });
      if (this.#stopping.signal.aborted) return;
      if (this.#problem !== reason.message) waiting(reason.message);
      this.#fail(reason.message);
      if (reason instanceof FinalError) this.#started.reject(reason);
      else if (this.#hasCopy) this.#startFromCopy();
      const restMs = pauseMs * (0.5 + fraction(random) / 2);
      await this.#rest(restMs);
      pauseMs = Math.min(2 * pauseMs, pauseMaxMs);
    }
  }

  /** Changes are refused at once: the outage began before the start. */
  #startFromCopy(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#problemSinceMs -= this.#changeWaitMs;
    this.#started.resolve();
  }

  async #rest(restMs: number): Promise<void> {
    this.#resting = new AbortController();
    const ended = AbortSignal.any([this.#stopping.signal, this.#resting.signal]);
    await this.ports.clock.sleep(restMs, ended).catch(() => {});
  }

  #fail(reason: string): void {
    if (this.#problem === null) {
      this.#problemSinceMs = this.ports.clock.monotonicMs();
      this.#log.warn('configuration.unreachable', { store: this.#link.name, reason });
    }
    this.#problem = reason;
    this.#wake();
  }

  /** Connects, takes the whole state over, and follows the changes. Resolves with the reason why it ended. */
  async #follow(ready: () => void): Promise<Error> {
    try {
      const head = await within(this.ports.clock, requestMs, this.#link.head());
      this.#checkHead(head);
      const lost = Promise.withResolvers<string>();
      const complete = Promise.withResolvers<void>();
      complete.promise.catch(() => {}); // awaited below
      let state: Map<string, StoredRecord> | null = new Map();
      this.#following = await within(
        this.ports.clock,
        requestMs,
        this.#link.follow({
          changed: (record) => void (state === null ? this.#take(record) : state.set(record.key, record)),
          complete: () => complete.resolve(),
          lost(reason) {
            lost.resolve(reason);
            complete.reject(new Error(reason));
          },
        }),
      );
      await within(this.ports.clock, resyncMs, complete.promise);
      this.#checkHead(head);
      if (this.#isSuccessor(head)) this.#records.prepareFor(state, head.revision);
      else await this.#checkState(state, head);
      const records = [...state.values()].sort((a, b) => a.revision - b.revision);
      state = null;
      for (const record of records) this.#take(record);
      this.#setFollowed(head);
      ready();
      return new Error(await this.#untilLost(lost.promise));
    } catch (error) {
      return error as Error;
    } finally {
      this.#following?.stop();
      this.#following = null;
    }
  }

  #setFollowed(head: StoreHead): void {
    const isNew = this.#followed === null || this.#isSuccessor(head);
    this.#followed = head;
    this.#isFenced = false;
    this.#records.revision = Math.max(this.#records.revision, head.revision);
    if (isNew) this.#saved.now();
    else this.#saved.soon();
    if (this.#problem !== 'not connected yet')
      this.#log.info('configuration.reached', { store: this.#link.name, revision: head.revision });
    this.#problem = null;
    this.#isStarted = true;
    this.#started.resolve();
    this.#wake();
  }

  #checkHead(head: StoreHead, newest = this.#records.revision): void {
    const { identity, revision, epoch = 1 } = head;
    const followed = this.#followed;
    if (followed !== null && identity !== followed.identity)
      throw new FinalError(
        `it is another store than before: it is named ${identity}, and this node used ${followed.identity}`,
      );
    if (this.#isSuccessor(head)) return;
    if (followed !== null && supersedes(followed, head))
      throw new WentBackError(
        `another founder took it over in epoch ${followed.epoch}, and it is of ${epoch}`,
      );
    if (this.#isFenced) throw new Error(takenOverNow);
    if (revision < newest) throw new WentBackError(`its newest revision is ${revision}, and was ${newest}`);
  }

  #isSuccessor(head: StoreHead): boolean {
    return this.#followed !== null && supersedes(head, this.#followed);
  }

  async #checkState(state: Map<string, StoredRecord>, head: StoreHead): Promise<void> {
    for (const record of this.#records.missingFrom(state)) {
      if (!this.#link.keepsDeletions && (record.json === null || record.revision < head.revision)) {
        const revision = Math.max(record.revision, head.revision);
        state.set(record.key, { key: record.key, json: null, revision, writes: null });
        continue;
      }
      const found = await within(this.ports.clock, requestMs, this.#link.read(record.key));
      if (state.has(record.key) || found !== null) continue;
      if (record.json !== null) throw new WentBackError(`"${record.key}" is missing`);
      this.#records.discard(record.key);
    }
    this.#records.checkFollowedBy(state);
  }

  /** Reads the head from time to time, because a feed can stop without an error. */
  async #untilLost(lost: Promise<string>): Promise<string> {
    const { clock } = this.ports;
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
        if (this.#isSuccessor(head)) return 'another founder took it over';
        const isBehind = head.revision > this.#records.revision;
        if (isBehind && behindAt === this.#records.revision) return 'its changes do not arrive';
        behindAt = isBehind ? this.#records.revision : -1;
      } catch (error) {
        const isCertain = error instanceof FinalError || error instanceof WentBackError || this.#isFenced;
        if (isCertain || ++failures > 1) return (error as Error).message;
      }
    }
  }

  /** The reason when the feed is lost, null after `pollMs`. */
  async #poll(lost: Promise<string>): Promise<string | null> {
    const pollEnd = Promise.withResolvers<null>();
    const timer = this.ports.clock.after(pollMs, () => pollEnd.resolve(null));
    const stop = (): void => pollEnd.resolve(null);
    this.#stopping.signal.addEventListener('abort', stop, { once: true });
    const reason = await Promise.race([lost, pollEnd.promise]);
    this.#stopping.signal.removeEventListener('abort', stop);
    timer.cancel();
    return this.#stopping.signal.aborted ? 'it is closed' : reason;
  }
}
