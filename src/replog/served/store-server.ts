// The founder's side: serves its configuration store to the other nodes of the cluster, one channel each. It keeps the ids of the last
// writes of each key since its start, so that a node whose answer was lost gets the outcome of its write.
import { UnwritableError } from '#base/unwritable-error.ts';
import type { ConfigStore, Entry } from '../config-store.ts';
import type { StoredRecord, StoreTerm } from '../mirror/config-link.ts';
import type { Channel, FounderReply, FounderRequest, NonMember } from './channel.ts';

export interface StoreServerOptions {
  /** The store must write and call its watchers before `put` returns its promise, as the embedded store does. */
  store: ConfigStore;
  /** The id of the store. */
  identity: string;
  /** Who stores it, and since which epoch. */
  term?: StoreTerm;
  /** New at each start. */
  bootId: string;
}

/** Write ids that a record lists. */
const writesMax = 16;
/** Which the store of the reader says again. */
const unchangedPrefix = 'Nothing was changed: ';
const nonMemberTexts: Record<NonMember, string> = {
  removed: 'this node was removed from the cluster',
  unknown: 'the cluster does not know this node',
};

export class StoreServer {
  readonly #options: StoreServerOptions;
  /** The newest record of each key that changed since the start. */
  readonly #changed = new Map<string, StoredRecord & { writes: readonly string[] }>();
  readonly #channels = new Set<Channel>();
  #watch: { stop(): void } | null = null;
  #isStopped = false;
  /** The ids of the write that is being made for another node. */
  #writing: readonly string[] | null = null;

  constructor(options: StoreServerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    let isStarting = true;
    this.#watch = await this.#options.store.watch('', (key, entry) => {
      if (!isStarting) this.#recordChange(key, entry);
    });
    isStarting = false;
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch?.stop();
    for (const channel of this.#channels) channel.close();
  }

  /** Serves one node, which the caller has authenticated. */
  serve(channel: Channel): void {
    if (this.#isStopped) {
      // The node was admitted while this one was still the founder.
      channel.close();
      return;
    }
    this.#channels.add(channel);
    const stops: { stop(): void }[] = [];
    let isClosed = false;
    channel.receive({
      message: (message) => {
        const keep = (watch: { stop(): void }): void => {
          if (isClosed) watch.stop();
          else stops.push(watch);
        };
        // The promise rejects if the message is no request, or the reply cannot be sent.
        this.#answer(channel, message as FounderRequest, keep).catch(() => channel.close());
      },
      closed: () => {
        isClosed = true;
        this.#channels.delete(channel);
        for (const watch of stops) watch.stop();
      },
    });
  }

  /** Answers every request of a node that is no member, but has a certificate of the cluster's authority, with the reason. */
  refuse(channel: Channel, nonMember: NonMember): void {
    this.#channels.add(channel);
    channel.receive({
      message: (message) => {
        const { id } = message as FounderRequest;
        channel.send({
          id,
          error: nonMemberTexts[nonMember],
          isFinal: true,
          stranger: nonMember,
        } satisfies FounderReply);
      },
      closed: () => void this.#channels.delete(channel),
    });
  }

  async #answer(
    channel: Channel,
    request: FounderRequest,
    keep: (watch: { stop(): void }) => void,
  ): Promise<void> {
    const send = (reply: FounderReply): void => channel.send(reply);
    const { id } = request;
    try {
      if (request.ask === 'follow') keep(await this.#follow(channel, id));
      else if (request.ask === 'head') send({ id, value: this.#head() });
      else if (request.ask === 'read') send({ id, value: await this.#read(request.key) });
      else if (request.ask === 'write') send({ id, value: await this.#write(request) });
      else send({ id, error: 'an unknown request', isFinal: true });
    } catch (error) {
      const { message } = error as Error;
      const isFinal = error instanceof UnwritableError && error.isUnchanged;
      send({
        id,
        error: isFinal ? message.replace(unchangedPrefix, '').replace(/\.$/, '') : message,
        isFinal,
      });
    }
  }

  #head() {
    const { store, identity, bootId, term } = this.#options;
    return { identity, revision: store.revision(), memory: bootId, ...term };
  }

  async #follow(channel: Channel, id: number): Promise<{ stop(): void }> {
    const send = (reply: FounderReply): void => channel.send(reply);
    send({ id, value: null });
    const watch = await this.#options.store.watch('', (key, entry) => {
      const record = entry === null ? this.#changed.get(key) : this.#recordOf(entry);
      try {
        if (record !== undefined) send({ feed: 'record', record });
      } catch {
        // The record is too large to be sent. The node must not follow later ones without it.
        channel.close();
      }
    });
    for (const record of this.#changed.values()) if (record.json === null) send({ feed: 'record', record });
    send({ feed: 'complete' });
    return watch;
  }

  async #read(key: string): Promise<StoredRecord | null> {
    const entry = await this.#options.store.get(key);
    return this.#changed.get(key) ?? (entry === null ? null : this.#recordOf(entry));
  }

  /** Null: refused, or applied before; the node reads the key to learn which. */
  async #write(request: FounderRequest & { ask: 'write' }): Promise<number | null> {
    const { store } = this.#options;
    const { key, json, writes, expectedRevision } = request;
    const newest = this.#changed.get(key);
    if (newest?.writes.includes(writes[0] as string)) return null;
    const isDeleted = newest?.json === null;
    if (isDeleted && expectedRevision !== newest.revision && expectedRevision !== 0) return null;
    // For the node, a deleted key has the revision of its deletion; in this store it is absent.
    const isAbsent = isDeleted || (await store.get(key)) === null;
    if (isAbsent && expectedRevision > store.revision()) return null;
    return this.#change(key, json, isAbsent ? 0 : expectedRevision, writes);
  }

  async #change(key: string, json: string | null, expectedRevision: number, writes: readonly string[]) {
    const { store } = this.#options;
    // Before `#writing` is set: the store calls the watchers only when it makes the change.
    for (let held = store.untilReleased?.(); held; held = store.untilReleased?.()) await held;
    const value: unknown = json === null ? null : JSON.parse(json);
    this.#writing = writes;
    const changing =
      json === null ? store.delete(key, expectedRevision) : store.put(key, value, expectedRevision);
    this.#writing = null;
    const outcome = await changing;
    if (outcome === null || outcome === false) return null;
    return outcome === true ? (this.#changed.get(key)?.revision ?? null) : outcome;
  }

  #recordChange(key: string, entry: Entry | null): void {
    const before = this.#changed.get(key)?.writes ?? [];
    const [id = 'of the founder'] = this.#writing ?? [];
    // A watcher of the founder may make a change of its own, which has another id.
    this.#writing = null;
    const revision = entry?.revision ?? this.#options.store.revision();
    const json = entry === null ? null : JSON.stringify(entry.value);
    this.#changed.set(key, { key, json, revision, writes: [id, ...before].slice(0, writesMax) });
  }

  #recordOf({ key, value, revision }: Entry): StoredRecord {
    const newest = this.#changed.get(key);
    return newest?.revision === revision
      ? newest
      : { key, json: JSON.stringify(value), revision, writes: null };
  }
}
