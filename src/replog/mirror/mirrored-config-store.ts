// A configuration store whose records are on other servers. Reads are answered from a mirror in memory, which one feed keeps up to date,
// so that they continue while no server can be reached. A change is sent to the servers. A node does not load a
// state that is older than one it has seen, and sends no changes to servers in such a state.
import { UnavailableError } from '#base/unavailable-error.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { fraction, type Random } from '#ports/random.ts';
import { within } from '#ports/within.ts';
import type { ConfigStore, Entry } from '../config-store.ts';
import { WatchList } from '../watch-list.ts';
import { ConditionalWriter } from './conditional-writer.ts';
import { Conditions } from './conditions.ts';
import {
  type ConfigLink,
  FinalError,
  type RecordFeed,
  type StoreContent,
  type StoredRecord,
  type StoreHead,
} from './config-link.ts';
import { beginFeed, untilLost } from './feed-watch.ts';
import { checkHead, isSuccessor, takenOverNow } from './head-check.ts';
import { entryOf, MirrorRecords, OlderStoreError } from './records.ts';
import { SavedState, type SeenHead, type StoreCopy } from './saved-state.ts';
import {
  type EndedStore,
  endIn,
  endOf,
  recordsToMirror,
  type StoreEnd,
  StoreEndedError,
  writeEnd,
} from './store-end.ts';

export interface MirroredStoreOptions {
  link: ConfigLink;
  seen: SeenHead;
  clock: Clock;
  random: Random;
  log: Log;
  /** How long a change waits for a connection or an election, counted from the beginning of the outage. */
  changeWaitMs?: number;
  /** True: the store can end. Its last change names the node that stores the configuration from then on (store-end.ts). */
  mayEnd?: boolean;
  /** Where the records are stored, and what was found there at the start; `found` null: nothing that can be trusted. */
  copy?: { readonly file: StoreCopy; readonly found: StoreContent | null };
}

const requestTimeoutMs = 3_000;
/** Limit of the transfer of the whole state. */
const resyncMs = 30_000;
const reconnectPauseMinMs = 100;
const reconnectPauseMaxMs = 5_000;
const defaultChangeWaitMs = 10_000;
/** How long a change of this node waits for its record in the feed. */
const ownChangeMs = 2_000;

export class MirroredConfigStore implements ConfigStore {
  readonly ports: { clock: Clock; random: Random };
  readonly #link: ConfigLink;
  readonly #saved: SavedState;
  readonly #log: Log;
  readonly #records: MirrorRecords;
  readonly #changeWaitMs: number;
  readonly #watchers = new WatchList();
  readonly #writer: ConditionalWriter;
  readonly #stopping = new AbortController();
  readonly #conditions: Conditions;
  /** Reads with a time limit. */
  readonly #timedReads: Pick<ConfigLink, 'keepsDeletions' | 'read'>;
  readonly #mayEnd: boolean;
  #ended: EndedStore | null = null;
  readonly #ending = Promise.withResolvers<EndedStore>();
  /** The store that this node follows; its revision is that of the records. Null: none yet. */
  #followed: StoreHead | null;
  /** Whether the mirror began with the records of a copy. */
  readonly #hasCopy: boolean;
  /** Another member is about to take the store over: nothing is read from the earlier founder. */
  #isFenced = false;
  #following: { stop(): void } | null = null;
  #pausing = new AbortController();
  /** Null: the mirror follows the store. */
  #problem: string | null = 'not connected yet';
  #problemSinceMs: number;
  #running: Promise<void> = Promise.resolve();
  #isStarted = false;
  #started = Promise.withResolvers<void>();

  constructor(options: MirroredStoreOptions) {
    const { link, seen, clock, random, log, copy, mayEnd = false } = options;
    const head = seen.load();
    this.#link = link;
    this.#log = log;
    this.#changeWaitMs = options.changeWaitMs ?? defaultChangeWaitMs;
    this.#mayEnd = mayEnd;
    const read = (key: string) => within(clock, requestTimeoutMs, link.read(key));
    this.#timedReads = { keepsDeletions: link.keepsDeletions, read };
    this.#conditions = new Conditions(clock, this.#stopping.signal);
    this.ports = { clock, random };
    this.#problemSinceMs = clock.monotonicMs();
    this.#followed = head;
    this.#records = new MirrorRecords(head?.revision ?? 0);
    const found = head === null ? null : (copy?.found ?? null);
    this.#hasCopy = found !== null;
    for (const record of found?.records ?? []) this.#records.apply(record);
    this.#records.revision = Math.max(this.#records.revision, found?.revision ?? 0);
    this.#saved = new SavedState({
      seen,
      copy: copy?.file ?? null,
      clock,
      log,
      head: () => this.head,
      record: (key) => this.#records.get(key),
    });
    const parts = { link, clock, random, requestTimeoutMs };
    this.#writer = new ConditionalWriter({
      ...parts,
      ended: () => this.#ended,
      mirrored: (key) => this.#records.get(key),
      untilReady: (untilMs) => this.#untilReady(untilMs),
      untilMirrored: (record) => this.#untilMirrored(record),
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

  /** Resolves when the store has ended: another one has the configuration. */
  get ended(): Promise<EndedStore> {
    return this.#ending.promise;
  }

  /** Ends the store: the last change names the node that stores the configuration from then on. False: another change came first. */
  end(end: StoreEnd): Promise<boolean> {
    return writeEnd(end, {
      ...this.ports,
      link: this.#link,
      requestTimeoutMs,
      revision: () => this.#records.revision,
      isEnded: () => this.#ended !== null,
      until: (isTrue, untilMs) => this.#conditions.until(isTrue, untilMs),
    });
  }

  /** The store that this node follows, at the revision that it has seen; null: none yet. */
  get head(): StoreHead | null {
    return this.#followed && { ...this.#followed, revision: this.#records.revision };
  }

  /** All records that were not deleted. */
  get state(): StoreContent {
    return { revision: this.#records.revision, records: this.#records.list('') };
  }

  /** Stops reading from the followed founder until `release` is called or another founder has taken over. */
  fence(): void {
    if (this.#followed === null) return;
    this.#isFenced = true;
    this.#fail(takenOverNow);
    this.#following?.stop();
  }

  release(): void {
    this.#isFenced = false;
    this.retry();
  }

  /** Stops writing its files: from now on another mirror writes them. */
  stopSaving(): void {
    this.#saved.close();
  }

  /** Tries to connect now. */
  retry(): void {
    this.#pausing.abort(new Error('tries again'));
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
    this.#setProblem('it is closed');
    this.#started.promise.catch(() => {});
    this.#started.reject(this.#stopping.signal.reason as Error);
    await this.#link[Symbol.asyncDispose]();
    await this.#running;
    this.#saved.close();
  }

  /** Resolves with the new revision, or with null if another write came first, once the mirror contains the record of the applied write. */
  async #change(key: string, json: string | null, expectedRevision: number): Promise<number | null> {
    const { clock } = this.ports;
    const since = this.#problem === null ? clock.monotonicMs() : this.#problemSinceMs;
    if (!(await this.#untilReady(since + this.#changeWaitMs)))
      throw new UnavailableError(
        `Nothing was changed: the configuration is stored by ${this.#link.name}, which cannot be used now: ${this.#problem}.`,
        { isUnchanged: true },
      );
    if (this.#ended !== null) throw new StoreEndedError();
    const untilMs = clock.monotonicMs() + this.#changeWaitMs;
    return (await this.#writer.write({ key, json, expectedRevision, untilMs })).revision;
  }

  #untilReady(untilMs: number): Promise<boolean> {
    return this.#conditions.until(() => this.#problem === null || this.#ended !== null, untilMs);
  }

  /**
   * Waits until the feed delivers the record, so that watchers see changes in the store's order. If the feed does not deliver it in
   * time, applies it directly, unless the store may have ended before it: only the feed shows that.
   */
  async #untilMirrored(record: StoredRecord): Promise<boolean> {
    const hasArrived = (): boolean => (this.#records.get(record.key)?.revision ?? 0) >= record.revision;
    const isOver = (): boolean => (this.#mayEnd ? this.#ended !== null : this.#problem !== null);
    const waitMs = this.#mayEnd ? this.#changeWaitMs : ownChangeMs;
    await this.#conditions.until(() => hasArrived() || isOver(), this.ports.clock.monotonicMs() + waitMs);
    if (this.#mayEnd) return hasArrived();
    this.#apply(record);
    return true;
  }

  #changed(record: StoredRecord): void {
    const end = this.#mayEnd ? endIn(record) : null;
    if (end === null) this.#apply(record);
    else this.#endWith({ end, content: { ...this.state, revision: end.after } });
  }

  #apply(record: StoredRecord): void {
    const before = this.#ended === null ? this.#records.apply(record) : null;
    if (before === null) return;
    this.#saved.changed(record, before);
    this.#watchers.notify(record.key, entryOf(record));
    this.#conditions.changed();
  }

  /** Applies no more records: what is written after the last change is not part of the configuration on any node. */
  #endWith(ended: EndedStore): void {
    if (this.#ended !== null) return;
    this.#ended = ended;
    this.#problem = 'the configuration has moved to another node';
    this.#following?.stop();
    this.#saved.close();
    this.#isStarted = true;
    this.#started.resolve();
    this.#ending.resolve(ended);
    this.#conditions.changed();
  }

  async #run(waiting: (reason: string) => void): Promise<void> {
    let pauseMs = reconnectPauseMinMs;
    while (!this.#stopping.signal.aborted) {
      const reason = await this.#follow(() => {
        pauseMs = reconnectPauseMinMs;
      });
      if (this.#stopping.signal.aborted || this.#ended !== null) return;
      if (this.#problem !== reason.message) waiting(reason.message);
      this.#fail(reason.message);
      if (reason instanceof FinalError) this.#started.reject(reason);
      else if (this.#hasCopy) this.#startFromCopy();
      await this.#pause(pauseMs * (0.5 + fraction(this.ports.random) / 2));
      pauseMs = Math.min(2 * pauseMs, reconnectPauseMaxMs);
    }
  }

  /** Changes are refused at once: the outage began before the start. */
  #startFromCopy(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#problemSinceMs -= this.#changeWaitMs;
    this.#started.resolve();
  }

  async #pause(ms: number): Promise<void> {
    this.#pausing = new AbortController();
    const signals = [this.#stopping.signal, this.#pausing.signal];
    await this.ports.clock.sleep(ms, AbortSignal.any(signals)).catch(() => {});
  }

  #fail(reason: string): void {
    const { name: store } = this.#link;
    if (this.#problem === null) this.#log.warn('configuration.unreachable', { store, reason });
    this.#setProblem(reason);
  }

  #setProblem(reason: string): void {
    if (this.#problem === null) this.#problemSinceMs = this.ports.clock.monotonicMs();
    this.#problem = reason;
    this.#conditions.changed();
  }

  /** Connects, loads the whole state, and follows the changes. Resolves with the reason why it ended. */
  async #follow(ready: () => void): Promise<Error> {
    try {
      const head = await within(this.ports.clock, requestTimeoutMs, this.#link.head());
      this.#checkHead(head);
      const lost = Promise.withResolvers<string>();
      const complete = Promise.withResolvers<void>();
      complete.promise.catch(() => {}); // awaited below
      let state: Map<string, StoredRecord> | null = new Map();
      const feed: RecordFeed = {
        changed: (record) => void (state === null ? this.#changed(record) : state.set(record.key, record)),
        complete: () => complete.resolve(),
        lost(reason) {
          lost.resolve(reason);
          complete.reject(new Error(reason));
        },
      };
      this.#following = await beginFeed(this.#link, feed, { ...this.ports, limitMs: requestTimeoutMs });
      await within(this.ports.clock, resyncMs, complete.promise);
      this.#checkHead(head);
      if (isSuccessor(head, this.#followed)) this.#records.prepareFor(state, head.revision);
      else await this.#records.complete(state, head, this.#timedReads);
      this.#checkHead(head); // it may have been fenced meanwhile
      const ended = this.#mayEnd ? endOf(state) : null;
      const records = recordsToMirror(ended, state);
      state = null;
      for (const record of records) this.#apply(record);
      if (ended !== null) this.#endWith(ended);
      else this.#setFollowed(head);
      ready();
      return new Error(await this.#untilLost(lost.promise));
    } catch (error) {
      if (!(error instanceof FinalError)) this.#link.disconnect();
      return error as Error;
    } finally {
      this.#following?.stop();
      this.#following = null;
    }
  }

  #setFollowed(head: StoreHead): void {
    const isNew = this.#followed === null || isSuccessor(head, this.#followed);
    this.#followed = head;
    this.#isFenced = false;
    this.#records.revision = Math.max(this.#records.revision, head.revision);
    if (isNew) this.#saved.saveNow();
    else this.#saved.saveSoon();
    if (this.#problem !== 'not connected yet')
      this.#log.info('configuration.reached', { store: this.#link.name, revision: head.revision });
    this.#problem = null;
    this.#isStarted = true;
    this.#started.resolve();
    this.#conditions.changed();
  }

  #checkHead(head: StoreHead, newest = this.#records.revision): void {
    checkHead(head, { followed: this.#followed, newest, isFenced: this.#isFenced });
  }

  #untilLost(lost: Promise<string>): Promise<string> {
    return untilLost({
      clock: this.ports.clock,
      stopping: this.#stopping.signal,
      lost: Promise.race([lost, this.#ending.promise.then(() => 'it has ended')]),
      revision: () => this.#records.revision,
      newest: async (known) => {
        const head = await within(this.ports.clock, requestTimeoutMs, this.#link.head());
        this.#checkHead(head, known);
        return isSuccessor(head, this.#followed) ? null : head.revision;
      },
      mustStop: (error) => error instanceof FinalError || error instanceof OlderStoreError || this.#isFenced,
    });
  }
}
