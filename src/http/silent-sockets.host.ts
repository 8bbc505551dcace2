// Connections that have not sent a byte yet. Clients open connections ahead of their requests, and Node's server would count the time for
// the first headers from the connection on. So the server gets a socket only when its client begins to send.
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';

type Accept = (socket: Socket) => void;

export class SilentSockets {
  readonly #idleMs: number;
  readonly #accept: Accept[];
  readonly #waiting = new Set<Socket>();
  #isClosed = false;

  /** Takes the place of the server's own listeners of `event`. */
  constructor(server: Server | TlsServer, event: 'connection' | 'secureConnection', idleMs: number) {
    this.#idleMs = idleMs;
    this.#accept = server.listeners(event).map((listener) => (listener as Accept).bind(server));
    server.removeAllListeners(event);
  }

  /** Gives the socket to the server when it has bytes or ends; closes it if it stays silent. */
  hold(socket: Socket): void {
    if (socket.destroyed) return;
    if (this.#isClosed) return void socket.destroy();
    const release = (): void => {
      this.#waiting.delete(socket);
      socket.setTimeout(0);
      socket.off('timeout', close);
      socket.off('error', ignore);
    };
    const close = (): void => void socket.destroy();
    const ignore = (): void => {};
    this.#waiting.add(socket);
    socket.setTimeout(this.#idleMs, close);
    socket.on('error', ignore);
    socket.once('close', release);
    socket.once('readable', () => {
      release();
      socket.off('close', release);
      for (const accept of this.#accept) accept(socket);
    });
  }

  /** Call when the server accepts no more: closes the sockets, and those whose handshake ends later. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#waiting) socket.destroy();
  }
}
