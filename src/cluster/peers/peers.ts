// Requests between the managers of a cluster's nodes, over the ports between nodes. One connection to each node, opened with the first
// request, and another one in place of one that is silent. Each request has a deadline, so that a node that hangs delays others only until then.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Channel } from '#replog/served/channel.ts';

type Request = { id: number; ask: string; body: unknown };
type Reply = { id: number; value: unknown } | { id: number; error: string };

/** Answers requests of one kind; the requesting node gets the error that it throws. */
type Answer = (body: never, from: string) => unknown;

export interface PeersDeps {
  /** Resolves with a connection to a node that both sides have authenticated. */
  connect(nodeId: string): Promise<Channel>;
  clock: Clock;
  log: Log;
}

/** The limit of requests to one node that wait for their answers. */
const waitingMax = 1_000;
/**
 * A connection on which no answer arrives for so long, although some are due, is replaced by another one. After a network fault the old
 * connection continues only when TCP retransmits what was lost, which may be as long after the end of the fault as the fault lasted.
 */
export const silentMs = 4_000;

export class Peers {
  readonly #deps: PeersDeps;
  readonly #answers = new Map<string, Answer>();
  readonly #links = new Map<string, PeerLink>();
  readonly #served = new Set<Channel>();
  #isStopped = false;

  constructor(deps: PeersDeps) {
    this.#deps = deps;
  }

  /** Answers requests of this name by other nodes. `from` is the id of the requesting node. */
  answer<Body>(name: string, answer: (body: Body, from: string) => unknown): void {
    this.#answers.set(name, answer as Answer);
  }

  /** @throws Error when the node cannot be reached, does not answer in time, or answers with an error. */
  ask<Value>(nodeId: string, name: string, body: unknown, timeoutMs: number): Promise<Value> {
    if (this.#isStopped) return Promise.reject(new Error('this node is stopping'));
    const link = this.#links.get(nodeId) ?? new PeerLink(nodeId, this.#deps);
    this.#links.set(nodeId, link);
    return link.ask(name, body, timeoutMs) as Promise<Value>;
  }

  /** Serves the connection of a node of the cluster; of one that left, requests of one name only. */
  serve(channel: Channel, from: string, only?: string): void {
    this.#served.add(channel);
    channel.receive({
      // Rejects for a message that is no request, which only a node with another program sends.
      message: (message) =>
        void this.#reply(channel, message as Request, from, only).catch(() => channel.close()),
      closed: () => void this.#served.delete(channel),
    });
  }

  /** Ends the connections to nodes that left the cluster. */
  discardExcept(isMember: (nodeId: string) => boolean): void {
    for (const [nodeId, link] of this.#links) {
      if (isMember(nodeId)) continue;
      link.close('it left the cluster');
      this.#links.delete(nodeId);
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const link of this.#links.values()) link.close('this node is stopping');
    for (const channel of this.#served) channel.close();
  }

  async #reply(channel: Channel, { id, ask, body }: Request, from: string, only = ask): Promise<void> {
    const answer = ask === only ? this.#answers.get(ask) : undefined;
    try {
      if (answer === undefined) throw new Error(`this version does not answer "${ask}"`);
      channel.send({ id, value: (await answer(body as never, from)) ?? null } satisfies Reply);
    } catch (error) {
      channel.send({ id, error: (error as Error).message } satisfies Reply);
    }
  }
}

/** The requests to one other node. */
class PeerLink {
  readonly #nodeId: string;
  readonly #deps: PeersDeps;
  /** The connection for the next request; null: the next request opens one. */
  #current: AskedConnection | null = null;
  readonly #open = new Set<AskedConnection>();
  #isReplacing = false;
  #isClosed = false;

  constructor(nodeId: string, deps: PeersDeps) {
    this.#nodeId = nodeId;
    this.#deps = deps;
  }

  ask(name: string, body: unknown, timeoutMs: number): Promise<unknown> {
    let waiting = 0;
    for (const connection of this.#open) waiting += connection.waitingCount;
    if (waiting >= waitingMax) return Promise.reject(new Error(`${waitingMax} requests wait already`));
    this.#current ??= this.#connectionOn(this.#deps.connect(this.#nodeId));
    return this.#current.ask(name, body, timeoutMs);
  }

  close(reason: string): void {
    this.#isClosed = true;
    for (const connection of [...this.#open]) connection.close(reason);
  }

  #connectionOn(opening: Promise<Channel>): AskedConnection {
    const connection = new AskedConnection({
      opening,
      clock: this.#deps.clock,
      silent: () => void this.#replace(connection),
      ended: () => {
        if (this.#current === connection) this.#current = null;
        this.#open.delete(connection);
      },
    });
    this.#open.add(connection);
    return connection;
  }

  /** Further requests take another connection once that is open. Until then they take the silent one, which may only be slow. */
  async #replace(silent: AskedConnection): Promise<void> {
    if (this.#current !== silent || this.#isReplacing) return;
    this.#isReplacing = true;
    try {
      const channel = await this.#deps.connect(this.#nodeId);
      const isNeeded = !this.#isClosed && (this.#current === silent || this.#current === null);
      if (isNeeded) this.#current = this.#connectionOn(Promise.resolve(channel));
      else channel.close();
      silent.retire();
    } catch {
      // The next request that is not answered in time tries again.
    } finally {
      this.#isReplacing = false;
    }
  }
}

interface Waiting {
  resolve(value: unknown): void;
  reject(reason: Error): void;
}

interface AskedConnectionOptions {
  readonly opening: Promise<Channel>;
  readonly clock: Clock;
  /** Called when a request is not answered in time, and nothing has arrived for `silentMs`. */
  readonly silent: () => void;
  readonly ended: () => void;
}

/** One connection to another node, and the requests that wait for answers on it. */
class AskedConnection {
  readonly #options: AskedConnectionOptions;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  /** When the last answer arrived, or the connection began. */
  #heardMs: number;
  /** Whether the connection gets no further requests, and is closed after the last answer that is due. */
  #isRetired = false;
  #hasEnded = false;

  constructor(options: AskedConnectionOptions) {
    this.#options = options;
    this.#heardMs = options.clock.monotonicMs();
    options.opening.then(
      (channel) => this.#opened(channel),
      (error: Error) => this.#end(error.message, error),
    );
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  ask(name: string, body: unknown, timeoutMs: number): Promise<unknown> {
    const { clock, opening } = this.#options;
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = clock.after(timeoutMs, () => {
      reject(new Error(`no answer in ${timeoutMs} ms`));
      if (clock.monotonicMs() - this.#heardMs >= silentMs) this.#options.silent();
    });
    this.#waiting.set(id, { resolve, reject });
    opening.then((channel) => channel.send({ id, ask: name, body } satisfies Request)).catch(reject);
    return promise.finally(() => {
      timer.cancel();
      this.#waiting.delete(id);
      this.#closeIfDone();
    });
  }

  /** Call when the connection gets no further requests. */
  retire(): void {
    this.#isRetired = true;
    this.#closeIfDone();
  }

  close(reason: string): void {
    this.#options.opening.then(
      (channel) => channel.close(),
      () => {}, // the requests that wait for the connection were rejected with this error
    );
    this.#end(reason);
  }

  #opened(channel: Channel): void {
    this.#heardMs = this.#options.clock.monotonicMs();
    channel.receive({
      message: (reply) => this.#receive(reply as Reply),
      closed: (reason) => this.#end(reason),
    });
  }

  #receive(reply: Reply): void {
    this.#heardMs = this.#options.clock.monotonicMs();
    const waiting = this.#waiting.get(reply.id);
    if ('value' in reply) waiting?.resolve(reply.value);
    else waiting?.reject(new Error(reply.error));
  }

  #closeIfDone(): void {
    if (this.#isRetired && this.#waiting.size === 0) this.close('the other node was silent');
  }

  #end(reason: string, error = new Error(reason)): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#options.ended();
  }
}
