// The socket of a connection. All sockets of the thread are read into one buffer that they share.
import { writeSync } from 'node:fs';
import { type Server, Socket } from 'node:net';
import type { ShownCertificate } from '#ports/client-certificate.ts';
import { type ReceiveBytes, readEncryptedInto } from '#ports/encrypted-reads.ts';
import { markAuthenticated, moveToSocket } from '#ports/unauthenticated-sockets.ts';
import type { Connection } from '../connection/connection.ts';
import type { Transport } from '../connection/transport.ts';
import type { TurnClock } from '../turn-clock.ts';
import { PacedWrites, type PieceSocket } from './paced-writes.ts';

export class SocketTransport implements Transport, PieceSocket {
  private readonly socket: Socket;
  /** File descriptor of an unencrypted socket, negative if there is none. */
  private readonly descriptor: number;
  private readonly writes: PacedWrites;
  /** Nothing more is written, and the socket ends once everything is sent. */
  private isEnding = false;

  constructor(socket: Socket, turns: TurnClock) {
    this.socket = socket;
    this.descriptor = descriptorOf(socket);
    this.writes = new PacedWrites(this, turns);
    // A client that has closed its side still gets what waits to be sent.
    socket.allowHalfOpen = true;
    socket.on('end', () => this.end());
  }

  /** `drained` is called when the system has accepted everything, if it did not do so during `write`. */
  follow(drained: () => void): void {
    this.writes.onDrained = () => {
      if (this.isEnding) this.socket.end();
      else drained();
    };
  }

  write(bytes: Buffer, length: number): boolean {
    return this.isEnding || this.socket.destroyed || this.writes.write(bytes, length);
  }

  get isGone(): boolean {
    return this.socket.destroyed;
  }

  /**
   * Writes to the descriptor directly, because the stream's overhead per write exceeds the cost of a request. The socket does not
   * block: the stream writes what it does not accept, and handles errors.
   */
  writeNow(bytes: Buffer, length: number): number {
    if (this.descriptor < 0) return 0;
    try {
      return writeSync(this.descriptor, bytes, 0, length);
    } catch {
      return 0;
    }
  }

  writeLater(bytes: Buffer, written: () => void): void {
    this.socket.write(bytes, written);
  }

  get unsentBytes(): number {
    return this.writes.unsentBytes;
  }

  markAuthenticated(): void {
    markAuthenticated(this.socket);
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  end(): void {
    this.isEnding = true;
    if (this.unsentBytes === 0) this.socket.end();
  }

  destroy(): void {
    this.socket.destroy();
  }
}

/** Creates connections for accepted sockets. */
export interface ConnectionFactory {
  /** `certificate` is the client certificate, null if there is none. */
  connect(socket: Socket, certificate: ShownCertificate | null): Connection;
}

/** Private members of sockets: the handle, around which a second socket is created, and its file descriptor. */
interface SocketInternals {
  _handle: { readonly fd?: number } | null;
  _server: unknown;
  server: unknown;
}

function descriptorOf(socket: Socket): number {
  // Bytes for an encrypted socket must pass through the stream.
  if ('encrypted' in socket) return -1;
  return (socket as unknown as SocketInternals)._handle?.fd ?? -1;
}

/**
 * Reads the accepted socket through the shared buffer. Node takes the reader only when a socket is created (nodejs.org/api/net.html,
 * `onread`), so a second socket is created around the handle of the first. On a runtime without that handle, `data` events are used.
 */
export function readShared(
  accepted: Socket,
  server: Server,
  shared: Buffer,
  factory: ConnectionFactory,
): void {
  const internals = accepted as unknown as SocketInternals;
  const handle = internals._handle;
  if (!handle) {
    readEvents(accepted, factory, null);
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
  // The server counts its open sockets: the count must decrease when this one closes.
  Object.assign(socket, { _server: server, server });
  moveToSocket(accepted, socket);
  connection = watch(socket, factory, null);
  socket.resume();
}

/** Reads a TLS socket whose handshake is over through the shared buffer; where the runtime does not allow that, by `data` events. */
export function readEncrypted(
  socket: Socket,
  shared: Buffer,
  factory: ConnectionFactory,
  certificate: ShownCertificate | null,
): Connection {
  const connection = watch(socket, factory, certificate);
  const receive: ReceiveBytes = (bytes, length) => connection.received(bytes, 0, length);
  if (!readEncryptedInto(socket, shared, receive)) readChunks(socket, connection);
  return connection;
}

/** Reads through `data` events; each chunk has its own memory. */
export function readEvents(
  socket: Socket,
  factory: ConnectionFactory,
  certificate: ShownCertificate | null,
): Connection {
  const connection = watch(socket, factory, certificate);
  readChunks(socket, connection);
  return connection;
}

function readChunks(socket: Socket, connection: Connection): void {
  socket.on('data', (chunk: Buffer) => {
    if (!connection.received(chunk, 0, chunk.length)) socket.pause();
  });
  socket.resume();
}

function watch(socket: Socket, factory: ConnectionFactory, certificate: ShownCertificate | null): Connection {
  const connection = factory.connect(socket, certificate);
  // Every socket error is followed by `close`, which is the only event that is needed.
  socket.on('error', () => socket.destroy());
  socket.on('close', () => connection.gone());
  return connection;
}
