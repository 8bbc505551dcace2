// Requests between the managers of a cluster's nodes, over the ports between nodes. One connection to each node, opened with the first
// request. Each request has a deadline, so that a node that hangs delays others only until then.
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
      message: (message) => void this.#reply(channel, message as Request, from, only),
      closed: () => void this.#served.delete(channel),
    });
  }

  /** Ends the connection to a node that left the cluster. */
  discard(nodeId: string): void {
    this.#links.get(nodeId)?.close('it left the cluster');
    this.#links.delete(nodeId);
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

interface Waiting {
  resolve(value: unknown): void;
  reject(reason: Error): void;
}

/** The connection to one other node. */
class PeerLink {
  readonly #nodeId: string;
  readonly #deps: PeersDeps;
  readonly #waiting = new Map<number, Waiting>();
  #channel: Promise<Channel> | null = null;
  #lastId = 0;

  constructor(nodeId: string, deps: PeersDeps) {
    this.#nodeId = nodeId;
    this.#deps = deps;
  }

  ask(name: string, body: unknown, timeoutMs: number): Promise<unknown> {
    if (this.#waiting.size >= waitingMax)
      return Promise.reject(new Error(`${waitingMax} requests wait already`));
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = this.#deps.clock.after(timeoutMs, () => reject(new Error(`no answer in ${timeoutMs} ms`)));
    this.#waiting.set(id, { resolve, reject });
    this.#connected().then((channel) => channel.send({ id, ask: name, body } satisfies Request), reject);
    return promise.finally(() => {
      timer.cancel();
      this.#waiting.delete(id);
    });
  }

  close(reason: string): void {
    this.#channel?.then(
      (channel) => channel.close(),
      () => {}, // the requests that wait for the connection have got its error
    );
    this.#lost(reason);
  }

  #connected(): Promise<Channel> {
    this.#channel ??= this.#open();
    return this.#channel;
  }

  #open(): Promise<Channel> {
    const opening = this.#deps.connect(this.#nodeId).then((channel) => {
      channel.receive({
        message: (reply) => this.#take(reply as Reply),
        closed: (reason) => {
          if (this.#channel === opening) this.#lost(reason);
        },
      });
      return channel;
    });
    opening.catch(() => {
      if (this.#channel === opening) this.#channel = null;
    });
    return opening;
  }

  #take(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    if ('value' in reply) waiting?.resolve(reply.value);
    else waiting?.reject(new Error(reply.error));
  }

  #lost(reason: string): void {
    this.#channel = null;
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
  }
}
