// The data ports: accepts connections, limits their number, and applies the TLS certificate.
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { loopbackHosts } from '#base/loopback.ts';
import { askForCertificates, type ClientCertificates, shownCertificate } from '#ports/client-certificate.ts';
import type { ClientGate } from '#ports/client-gate.ts';
import { endWithin } from '#ports/end-of-socket.ts';
import { secureContextOptions, type TlsSpec } from '#ports/tls.ts';
import { handshakeMs, type UnauthenticatedSockets } from '#ports/unauthenticated-sockets.ts';
import { type ConnectionFactory, readEncrypted, readEvents, readShared } from './socket-transport.host.ts';

const sharedReadBytes = 256 * 1024;
const keepAliveDelayMs = 30_000;
const backlog = 1024;
/** Time for a refused client to close its side, and how many refused clients may be waited for at once. */
const refusedCloseMs = 1_000;
const refusedMax = 256;

export interface ListenerOptions {
  factory: ConnectionFactory;
  gate: ClientGate;
  connectionsMax(): number;
  connectionCount(): number;
  /** Limits unauthenticated connections. */
  unauthenticated: UnauthenticatedSockets;
  /** Called when a connection is refused because a limit is reached. */
  refused?(socket: Socket): void;
  /** Read sockets through `data` events, whose chunks have memory of their own. */
  withoutSharedBuffer?: boolean;
}

export class Listener {
  private readonly options: ListenerOptions;
  private readonly shared = Buffer.allocUnsafeSlow(sharedReadBytes);
  private readonly servers = new Set<Server>();
  private plain: { host: string; port: number; servers: Server[] } | null = null;
  /** Null before the unencrypted port is open, while it is reopened, and after an attempt to reopen it failed. */
  isPlainForThisMachineOnly: boolean | null = null;
  private tlsServer: TlsServer | null = null;
  private tls: TlsSpec | null = null;
  private clientCertificates: ClientCertificates | undefined;
  private refusedCount = 0;

  constructor(options: ListenerOptions) {
    this.options = options;
  }

  /** Listens for unencrypted connections; returns the port. */
  async listen(host: string, port: number, { forThisMachineOnly = false } = {}): Promise<number> {
    this.plain = { host, port, servers: [] };
    await this.openPlain(this.plain, forThisMachineOnly);
    return this.plain.port;
  }

  /** Reopens the unencrypted port, for connections from this machine only or on its configured host. Open connections stay open. */
  async listenForThisMachineOnly(isOnly: boolean): Promise<void> {
    const { plain } = this;
    if (plain === null) return;
    this.isPlainForThisMachineOnly = null;
    for (const server of plain.servers.splice(0)) {
      this.servers.delete(server);
      server.close();
    }
    await this.openPlain(plain, isOnly);
  }

  private async openPlain(
    plain: { host: string; port: number; servers: Server[] },
    isForThisMachineOnly: boolean,
  ): Promise<void> {
    const hosts = isForThisMachineOnly ? loopbackHosts(plain.host) : [plain.host];
    for (const host of hosts) {
      const server = this.plainServer();
      plain.port = await this.open(server, host, plain.port);
      plain.servers.push(server);
    }
    this.isPlainForThisMachineOnly = isForThisMachineOnly;
  }

  private plainServer(): Server {
    const server = createServer({ pauseOnConnect: true, ...socketOptions }, (socket) => {
      if (this.options.gate.refuses(socket)) return;
      if (this.isFull) this.refuse(socket);
      else if (!this.options.unauthenticated.enter(socket)) this.options.refused?.(socket);
      else if (this.options.withoutSharedBuffer) readEvents(socket, this.options.factory, null);
      else readShared(socket, server, this.shared, this.options.factory);
    });
    return server;
  }

  /** Listens for TLS connections, which fail until a certificate is set; returns the port. */
  async listenTls(host: string, port: number): Promise<number> {
    const server = createTlsServer(
      { handshakeTimeout: handshakeMs, ...socketOptions },
      (socket: TLSSocket) => {
        this.options.unauthenticated.handshakeEnded(socket);
        // The allowlist may have changed since the handshake began.
        if (this.options.gate.refuses(socket)) return;
        const certificate = shownCertificate(socket, this.clientCertificates);
        if (certificate === 'refused') socket.destroy();
        else if (this.isFull) this.refuse(socket);
        else if (this.options.withoutSharedBuffer) readEvents(socket, this.options.factory, certificate);
        else readEncrypted(socket, this.shared, this.options.factory, certificate);
      },
    );
    // Connections arrive here before their handshake.
    server.on('connection', (socket: Socket) => {
      if (this.options.gate.refuses(socket)) return;
      if (!this.options.unauthenticated.enterHandshake(socket)) this.options.refused?.(socket);
    });
    // A failed handshake is an error of the client; the socket is closed already.
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    this.tlsServer = server;
    return await this.open(server, host, port);
  }

  /** Sets the certificate for new connections. Sessions of an equal one can still be resumed. */
  useTls(spec: TlsSpec): void {
    if (!this.tlsServer || isDeepStrictEqual(spec, this.tls)) return;
    this.tls = spec;
    this.clientCertificates = spec.clients;
    this.tlsServer.setSecureContext(secureContextOptions(spec));
    askForCertificates(this.tlsServer, spec.clients);
  }

  /** Stops accepting connections. Resolves once all are closed. */
  async close(): Promise<void> {
    const closed = [...this.servers].map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    );
    this.servers.clear();
    await Promise.all(closed);
  }

  private get isFull(): boolean {
    return this.options.connectionCount() >= this.options.connectionsMax();
  }

  /** Closes the server's side and discards what the client sends: otherwise the client would see a reset instead of an end. */
  private refuse(socket: Socket): void {
    this.options.refused?.(socket);
    socket.on('error', () => socket.destroy());
    if (this.refusedCount >= refusedMax) {
      socket.destroy();
      return;
    }
    this.refusedCount++;
    socket.once('close', () => this.refusedCount--);
    socket.resume();
    endWithin(socket, '', refusedCloseMs);
  }

  private async open(server: Server, host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    // If accepting fails (no file descriptors left), the server retries with the next connection.
    server.on('error', () => {});
    this.servers.add(server);
    const address = server.address();
    return typeof address === 'object' && address ? address.port : port;
  }
}

const socketOptions = { noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveDelayMs } as const;
