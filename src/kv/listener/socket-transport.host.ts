// A connection's socket. Plain sockets are read into one buffer that all connections of the thread share; where that
// cannot be had (TLS), each arrival comes in a buffer of its own.
import { writeSync } from 'node:fs';
import { type Server, Socket } from 'node:net';
import type { ShownCertificate } from '#ports/client-certificate.ts';
import { isKnown, sameStranger } from '#ports/strangers.ts';
import type { Connection } from '../connection/connection.ts';
import type { Transport } from '../connection/transport.ts';

export class SocketTransport implements Transport {
  private readonly socket: Socket;
  /** Of a plain socket, where the system has such numbers; else below zero. */
  private readonly descriptor: number;

  constructor(socket: Socket) {
    this.socket = socket;
    this.descriptor = descriptorOf(socket);
  }

  write(bytes: Buffer, length: number): boolean {
    const { socket } = this;
    if (socket.destroyed || socket.writableEnded) return true;
    const taken = this.descriptor >= 0 && socket.writableLength === 0 ? this.writeNow(bytes, length) : 0;
    if (taken === length) return true;
    socket.write(bytes.subarray(taken, length));
    // Nothing waits in the stream: the operating system has it all, and the memory is ours again.
    return socket.writableLength === 0;
  }

  /**
   * Past the stream, whose bookkeeping for each write costs more than answering a request. The socket does not block:
   * what it does not take, and what goes wrong, is the stream's affair.
   */
  private writeNow(bytes: Buffer, length: number): number {
    try {
      return writeSync(this.descriptor, bytes, 0, length);
    } catch {
      return 0;
    }
  }

  get unsentBytes(): number {
    return this.socket.writableLength;
  }

  authenticated(): void {
    isKnown(this.socket);
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  end(): void {
    this.socket.end();
  }

  destroy(): void {
    this.socket.destroy();
  }
}

/** How sockets hand over what arrives. */
export interface Intake {
  /** Makes the connection for an accepted socket, of whoever its certificate names. */
  connect(socket: Socket, shown: ShownCertificate | null): Connection;
}

/** The private part of sockets that lets one be made anew around an accepted handle, and written to by its number. */
interface SocketInternals {
  _handle: { readonly fd?: number } | null;
  _server: unknown;
  server: unknown;
}

function descriptorOf(socket: Socket): number {
  // What an encrypted socket sends is not what is written to it.
  if ('encrypted' in socket) return -1;
  return (socket as unknown as SocketInternals)._handle?.fd ?? -1;
}

/**
 * Reads the accepted socket through the shared buffer. The reader must be given when a socket is made, so a second one
 * is made around the handle of the first (nodejs.org/api/net.html, `onread`); a runtime without that handle is
 * served by `data` events.
 */
export function readShared(accepted: Socket, server: Server, shared: Buffer, intake: Intake): void {
  const internals = accepted as unknown as SocketInternals;
  const handle = internals._handle;
  if (!handle) {
    readEvents(accepted, intake, null);
    return;
  }
  internals._handle = null;
  let connection: Connection | null = null;
  const options = {
    handle,
    allowHalfOpen: false,
    onread: { buffer: shared, callback: (bytes: number) => connection?.received(shared, 0, bytes) ?? false },
  };
  const socket = new Socket(options as unknown as ConstructorParameters<typeof Socket>[0]);
  // The server counts its sockets: the count must go down when this one closes.
  Object.assign(socket, { _server: server, server });
  sameStranger(accepted, socket);
  connection = watch(socket, intake, null);
  socket.resume();
}

/** Reads through public events; each chunk is memory of its own. */
export function readEvents(socket: Socket, intake: Intake, shown: ShownCertificate | null): void {
  const connection = watch(socket, intake, shown);
  socket.on('data', (chunk: Buffer) => {
    if (!connection.received(chunk, 0, chunk.length)) socket.pause();
  });
  socket.resume();
}

function watch(socket: Socket, intake: Intake, shown: ShownCertificate | null): Connection {
  const connection = intake.connect(socket, shown);
  socket.on('drain', () => connection.drained());
  // Clients vanish in many ways; each ends in `close`, which is all that matters here.
  socket.on('error', () => socket.destroy());
  socket.on('close', () => connection.gone());
  return connection;
}
