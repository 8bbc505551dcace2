// Connections whose clients have not authenticated: limits their number for each source and in all, and the duration of a TLS
// handshake, whatever the client sends meanwhile.
import type { Socket } from 'node:net';
import { sourceOf } from '#base/address.ts';
import { type Clock, realClock } from './clock.ts';

export interface UnauthenticatedLimits {
  /** From one IPv4 address, or one IPv6 network of 64 bits. */
  perSource: number;
  total: number;
  /**
   * At the limit, a new connection may replace the oldest one of its own source. For ports of nodes: a node authenticates at once, but may
   * have the same address as a client that never authenticates.
   */
  replacesOldest?: boolean;
}

/** The longest TLS handshake. */
export const handshakeMs = 30_000;

interface Entry {
  /** Stops counting the connection. */
  leave(): void;
  /** Closes the connection. */
  close(): void;
  /** Cancels the timer of the handshake; absent for connections without TLS. */
  endHandshake?(): void;
}

const bySocket = new WeakMap<Socket, Entry>();

/** Call when the client of the socket has authenticated: the connection no longer counts. */
export const markAuthenticated = (socket: Socket): void => bySocket.get(socket)?.leave();

const endsOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress}:${remotePort}:${localPort}`;

function once(callback: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    callback();
  };
}

/** Moves the count to a socket that took over the handle of `before`. */
export function moveToSocket(before: Socket, now: Socket): void {
  const entry = bySocket.get(before);
  if (entry === undefined) return;
  bySocket.set(now, entry);
  entry.close = () => now.destroy();
  now.once('close', () => entry.leave());
}

export class UnauthenticatedSockets {
  readonly #limits: () => UnauthenticatedLimits;
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #bySource = new Map<string, Set<Entry>>();
  /** By address and ports: the TLS socket of a connection is another object than the accepted one. */
  readonly #inHandshake = new Map<string, Entry>();
  #total = 0;

  constructor(limits: () => UnauthenticatedLimits, clock: Clock = realClock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get total(): number {
    return this.#total;
  }

  /**
   * Counts an accepted socket; false when it has been closed because there are too many. When there are too many in all, the source
   * with the most of them loses its oldest one to a source with fewer, so that one source cannot keep out clients that will log in.
   */
  enter(socket: Socket): boolean {
    const source = sourceOf(socket.remoteAddress ?? '');
    const { perSource, total } = this.#limits();
    const count = this.#bySource.get(source)?.size ?? 0;
    if (count >= perSource || (this.#total >= total && !this.#makeRoom(count))) {
      socket.on('error', () => {}); // a socket without a listener for errors throws them
      socket.destroy();
      return false;
    }
    const entry: Entry = {
      leave: once(() => this.#leave(source, entry)),
      close: () => socket.destroy(),
    };
    const others = this.#bySource.get(source);
    if (others === undefined) this.#bySource.set(source, new Set([entry]));
    else others.add(entry);
    this.#total++;
    bySocket.set(socket, entry);
    socket.once('close', entry.leave);
    return true;
  }

  /** Counts an accepted socket of TLS, and closes it when its handshake takes too long. */
  enterHandshake(socket: Socket): boolean {
    if (!this.enter(socket)) return false;
    const ends = endsOf(socket);
    const timer = this.#clock.after(handshakeMs, () => socket.destroy());
    const endHandshake = once(() => {
      timer.cancel();
      this.#inHandshake.delete(ends);
    });
    const entry = bySocket.get(socket) as Entry;
    entry.endHandshake = endHandshake;
    this.#inHandshake.set(ends, entry);
    socket.once('close', endHandshake);
    return true;
  }

  /** Call when the handshake is over: moves the count to the TLS socket. */
  handshakeEnded(socket: Socket): void {
    const entry = this.#inHandshake.get(endsOf(socket));
    if (entry === undefined) return;
    entry.endHandshake?.();
    bySocket.set(socket, entry);
    entry.close = () => socket.destroy();
    socket.once('close', () => entry.leave());
  }

  /**
   * Closes the oldest connection of the source that has the most, and returns true, if that source has at least two more than the source of
   * the new connection, which has `count` (with `replacesOldest`: at least as many). If `count` is 0, one connection suffices.
   */
  #makeRoom(count: number): boolean {
    let most: Set<Entry> | null = null;
    const least = count === 0 ? 1 : count + (this.#limits().replacesOldest ? 0 : 2);
    for (const entries of this.#bySource.values())
      if (entries.size >= least && entries.size > (most?.size ?? 0)) most = entries;
    const [oldest] = most ?? [];
    if (oldest === undefined) return false;
    // The count is corrected at once, because the close event comes later.
    oldest.leave();
    oldest.close();
    return true;
  }

  #leave(source: string, entry: Entry): void {
    this.#total--;
    const left = this.#bySource.get(source);
    left?.delete(entry);
    if (left?.size === 0) this.#bySource.delete(source);
  }
}

/** For a port of nodes. */
export const unauthenticatedNodes = (total: number): UnauthenticatedSockets =>
  new UnauthenticatedSockets(() => ({ perSource: total + 1, total, replacesOldest: true }));
