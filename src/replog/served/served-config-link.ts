// The link to the configuration that the founder of the cluster serves.
import {
  type ConfigLink,
  FinalError,
  NotSentError,
  type RecordFeed,
  type StoredRecord,
  type StoreHead,
} from '../mirror/config-link.ts';
import type { Channel, FounderReply, FounderRequest, NonMember } from './channel.ts';

/** A request before it gets its id. */
type NewRequest = FounderRequest extends infer R ? (R extends FounderRequest ? Omit<R, 'id'> : never) : never;

interface Waiting {
  resolve(value: unknown): void;
  reject(reason: Error): void;
}

export class ServedConfigLink implements ConfigLink {
  readonly name: string;
  /** A deleted key is absent, because the founder's answers are never stale. */
  readonly keepsDeletions = false;
  readonly #connect: () => Promise<Channel>;
  #writeHistoryId = '';
  #channel: Channel | null = null;
  #connecting: Promise<Channel> | null = null;
  #isClosed = false;
  #lastId = 0;
  readonly #waiting = new Map<number, Waiting>();
  #feed: RecordFeed | null = null;

  /** `connect` resolves with a channel to the founder that both sides have authenticated. */
  constructor(name: string, connect: () => Promise<Channel>) {
    this.name = name;
    this.#connect = connect;
  }

  /** The founder's boot id: its process loses the write ids when it ends. */
  get writeHistoryId(): string {
    return this.#writeHistoryId;
  }

  async head(): Promise<StoreHead> {
    await this.#connected();
    // `memory`: the founder's boot id.
    const { memory, ...head } = (await this.#request({ ask: 'head' })) as StoreHead & {
      memory: string;
    };
    this.#writeHistoryId = memory;
    return head;
  }

  async follow(feed: RecordFeed): Promise<{ stop(): void }> {
    await this.#connected();
    if (this.#feed !== null) this.#refuseSecondFeed();
    this.#feed = feed;
    await this.#request({ ask: 'follow' });
    return {
      stop: () => {
        if (this.#feed === feed) this.#drop('the feed was stopped');
      },
    };
  }

  /** A channel carries one feed: records of a feed that was answered late must not arrive in the next feed. */
  #refuseSecondFeed(): never {
    const reason = 'an earlier feed was not stopped';
    this.#drop(reason);
    throw new Error(reason);
  }

  async read(key: string): Promise<StoredRecord | null> {
    return (await this.#request({ ask: 'read', key })) as StoredRecord | null;
  }

  async write({ key, json, writes }: Omit<StoredRecord, 'revision'>, expectedRevision: number) {
    return (await this.#request({ ask: 'write', key, json, writes: writes ?? [], expectedRevision })) as
      | number
      | null;
  }

  disconnect(): void {
    if (this.#channel !== null) this.#drop('the founder did not answer on it');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#drop('it is closed');
    (await this.#connecting?.catch(() => null))?.close();
  }

  #request(request: NewRequest): Promise<unknown> {
    const channel = this.#channel;
    if (channel === null) return Promise.reject(new NotSentError('there is no connection'));
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    try {
      channel.send({ id, ...request });
    } catch (error) {
      this.#waiting.delete(id);
      reject(new FinalError((error as Error).message));
    }
    return promise;
  }

  #connected(): Promise<Channel> {
    if (this.#channel !== null) return Promise.resolve(this.#channel);
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #open(): Promise<Channel> {
    const channel = await this.#connect();
    if (this.#isClosed) {
      channel.close();
      throw new NotSentError('it is closed');
    }
    this.#channel = channel;
    channel.receive({
      message: (reply) => this.#receive(reply as FounderReply),
      closed: (reason) => {
        if (this.#channel === channel) this.#drop(reason);
      },
    });
    return channel;
  }

  #receive(reply: FounderReply): void {
    if ('feed' in reply) {
      if (reply.feed === 'record') this.#feed?.changed(reply.record as StoredRecord);
      else this.#feed?.complete();
      return;
    }
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('value' in reply) waiting?.resolve(reply.value);
    else waiting?.reject(errorOf(reply));
  }

  #drop(reason: string): void {
    const feed = this.#feed;
    this.#channel?.close();
    this.#channel = null;
    this.#feed = null;
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
    this.#waiting.clear();
    feed?.lost(reason);
  }
}

/** The founder refuses this node, because it is no member of the cluster. */
export class NonMemberError extends FinalError {
  readonly reason: NonMember;

  constructor(message: string, reason: NonMember) {
    super(message);
    this.reason = reason;
  }
}

function errorOf({ error, isFinal, stranger }: Extract<FounderReply, { error: string }>): Error {
  if (stranger !== undefined) return new NonMemberError(error, stranger);
  return isFinal ? new FinalError(error) : new Error(error);
}
