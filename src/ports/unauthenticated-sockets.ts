// Connections whose clients have not shown who they are: how many one source may have, how many there may be in all, and how
// long a TLS handshake may take, whatever the client sends meanwhile.
import type { Socket } from 'node:net';
import { networkOf } from '#base/address.ts';
import { type Clock, realClock } from './clock.ts';

export interface StrangerLimits {
  /** From one address; of IPv6 from one network. */
  perSource: number;
  total: number;
}

/** Of a TLS handshake. */
export const handshakeMs = 30_000;

interface Stranger {
  /** It is not counted any more. */
  leave(): void;
  /** Closes its connection. */
  close(): void;
  /** Its handshake is over. */
  over?(): void;
}

/** By socket, and for sockets of TLS whose handshake is not over by their two ends. */
const bySocket = new WeakMap<Socket, Stranger>();

/** The client of the socket has shown who it is. */
export const isKnown = (socket: Socket): void => bySocket.get(socket)?.leave();

const endsOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress}:${remotePort}:${localPort}`;

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}

/** One socket takes the place of another around the same handle; the first is not closed for itself any more. */
export function sameStranger(before: Socket, now: Socket): void {
  const stranger = bySocket.get(before);
  if (stranger === undefined) return;
  bySocket.set(now, stranger);
  stranger.close = () => now.destroy();
  now.once('close', () => stranger.leave());
}

export class Strangers {
  readonly #limits: () => StrangerLimits;
  readonly #clock: Clock;
  /** In the order in which they came. */
  readonly #bySource = new Map<string, Set<Stranger>>();
  readonly #inHandshake = new Map<string, Stranger>();
  #total = 0;

  constructor(limits: () => StrangerLimits, clock: Clock = realClock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get total(): number {
    return this.#total;
  }

  /**
   * Counts an accepted socket; false when it has been closed because there are too many. When there are too many in all, the source
   * with the most of them loses its oldest one to a source with fewer: many strangers do not keep out a client who will log in.
   */
  enter(socket: Socket): boolean {
    const source = networkOf(socket.remoteAddress ?? '');
    const { perSource, total } = this.#limits();
    const count = this.#bySource.get(source)?.size ?? 0;
    if (count >= perSource || (this.#total >= total && !this.#makeRoom(count))) {
      socket.on('error', () => {}); // nobody listens to it any more
      socket.destroy();
      return false;
    }
    const stranger: Stranger = {
      leave: once(() => this.#leave(source, stranger)),
      close: () => socket.destroy(),
    };
    const others = this.#bySource.get(source);
    if (others === undefined) this.#bySource.set(source, new Set([stranger]));
    else others.add(stranger);
    this.#total++;
    bySocket.set(socket, stranger);
    socket.once('close', stranger.leave);
    return true;
  }

  /** Counts an accepted socket of TLS, and closes it when its handshake takes too long. */
  enterHandshake(socket: Socket): boolean {
    if (!this.enter(socket)) return false;
    const ends = endsOf(socket);
    const timer = this.#clock.after(handshakeMs, () => socket.destroy());
    const over = once(() => {
      timer.cancel();
      this.#inHandshake.delete(ends);
    });
    const stranger = bySocket.get(socket) as Stranger;
    stranger.over = over;
    this.#inHandshake.set(ends, stranger);
    socket.once('close', over);
    return true;
  }

  /** The handshake is over: this socket is what the client is known by from now on. */
  handshaken(socket: Socket): void {
    const stranger = this.#inHandshake.get(endsOf(socket));
    if (stranger === undefined) return;
    stranger.over?.();
    bySocket.set(socket, stranger);
    stranger.close = () => socket.destroy();
    socket.once('close', () => stranger.leave());
  }

  /** Closes one connection of a source that even then has as many as the source of the newcomer, which has `count`. */
  #makeRoom(count: number): boolean {
    let most: Set<Stranger> | null = null;
    const least = count === 0 ? 1 : count + 2;
    for (const strangers of this.#bySource.values())
      if (strangers.size >= least && strangers.size > (most?.size ?? 0)) most = strangers;
    const [oldest] = most ?? [];
    if (oldest === undefined) return false;
    // Its socket closes later.
    oldest.leave();
    oldest.close();
    return true;
  }

  #leave(source: string, stranger: Stranger): void {
    this.#total--;
    const left = this.#bySource.get(source);
    left?.delete(stranger);
    if (left?.size === 0) this.#bySource.delete(source);
  }
}
