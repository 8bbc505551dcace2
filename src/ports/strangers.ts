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
  leave(): void;
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
  now.once('close', () => stranger.leave());
}

export class Strangers {
  readonly #limits: () => StrangerLimits;
  readonly #clock: Clock;
  readonly #bySource = new Map<string, number>();
  readonly #inHandshake = new Map<string, Stranger>();
  #total = 0;

  constructor(limits: () => StrangerLimits, clock: Clock = realClock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get total(): number {
    return this.#total;
  }

  /** Counts an accepted socket; false when it has been closed because there are too many. */
  enter(socket: Socket): boolean {
    const source = networkOf(socket.remoteAddress ?? '');
    const { perSource, total } = this.#limits();
    const count = this.#bySource.get(source) ?? 0;
    if (count >= perSource || this.#total >= total) {
      socket.on('error', () => {}); // nobody listens to it any more
      socket.destroy();
      return false;
    }
    this.#bySource.set(source, count + 1);
    this.#total++;
    const leave = once(() => this.#leave(source));
    bySocket.set(socket, { leave });
    socket.once('close', leave);
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
    this.#inHandshake.set(ends, { leave: bySocket.get(socket)?.leave ?? over, over });
    socket.once('close', over);
    return true;
  }

  /** The handshake is over: this socket is what the client is known by from now on. */
  handshaken(socket: Socket): void {
    const stranger = this.#inHandshake.get(endsOf(socket));
    if (stranger === undefined) return;
    stranger.over?.();
    bySocket.set(socket, stranger);
    socket.once('close', () => stranger.leave());
  }

  #leave(source: string): void {
    this.#total--;
    const left = (this.#bySource.get(source) ?? 1) - 1;
    if (left > 0) this.#bySource.set(source, left);
    else this.#bySource.delete(source);
  }
}
