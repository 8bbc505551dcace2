// The data ports: accepts, limits the number of connections, and takes the certificate that is to be used from now on.
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { loopbackHosts } from '#base/loopback.ts';
import { askForCertificates, type ClientCertificates, shownCertificate } from '#ports/client-certificate.ts';
import type { ClientGate } from '#ports/client-gate.ts';
import { handshakeMs, type Strangers } from '#ports/strangers.ts';
import { secureContextOptions, type TlsSpec } from '#ports/tls.ts';
import { type Intake, readEvents, readShared } from './socket-transport.host.ts';

const sharedReadBytes = 256 * 1024;
const keepAliveDelayMs = 30_000;
const backlog = 1024;
/** For a client that is turned away to close its side; so many may take that time at once. */
const turnAwayMs = 1_000;
const turnedAwayMax = 256;

export interface ListenerOptions {
  intake: Intake;
  gate: ClientGate;
  connectionsMax(): number;
  connectionCount(): number;
  /** Clients that have not logged in. */
  strangers: Strangers;
  /** A client was hung up on for want of room. */
  refused?(socket: Socket): void;
  /** Read through public events only. */
  withoutSharedBuffer?: boolean;
}

export class Listener {
  private readonly options: ListenerOptions;
  private readonly shared = Buffer.allocUnsafeSlow(sharedReadBytes);
  private readonly servers = new Set<Server>();
  private plain: { host: string; port: number; servers: Server[] } | null = null;
  isPlainForThisMachineOnly = false;
  private tlsServer: TlsServer | null = null;
  private clients: ClientCertificates | undefined;
  private turnedAway = 0;

  constructor(options: ListenerOptions) {
    this.options = options;
  }

  /** Listens for plain connections; answers the port. */
  async listen(host: string, port: number, { forThisMachineOnly = false } = {}): Promise<number> {
    this.plain = { host, port, servers: [] };
    await this.openPlain(this.plain, forThisMachineOnly);
    return this.plain.port;
  }

  /** Opens the plain port to this machine alone, or to everybody that its host lets in. Open connections are left alone. */
  async listenForThisMachineOnly(isOnly: boolean): Promise<void> {
    const { plain } = this;
    if (plain === null) return;
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
      if (this.isFull) this.turnAway(socket);
      else if (!this.options.strangers.enter(socket)) this.options.refused?.(socket);
      else if (this.options.withoutSharedBuffer) readEvents(socket, this.options.intake, null);
      else readShared(socket, server, this.shared, this.options.intake);
    });
    return server;
  }

  /** Listens for TLS connections, which are refused until there is a certificate; answers the port. */
  async listenTls(host: string, port: number): Promise<number> {
    const server = createTlsServer(
      { handshakeTimeout: handshakeMs, ...socketOptions },
      (socket: TLSSocket) => {
        this.options.strangers.handshaken(socket);
        // The list may have changed since the handshake began.
        if (this.options.gate.refuses(socket)) return;
        const shown = shownCertificate(socket, this.clients);
        if (shown === 'refused') socket.destroy();
        else if (this.isFull) this.turnAway(socket);
        else readEvents(socket, this.options.intake, shown);
      },
    );
    // Before the handshake.
    server.on('connection', (socket: Socket) => {
      if (this.options.gate.refuses(socket)) return;
      if (!this.options.strangers.enterHandshake(socket)) this.options.refused?.(socket);
    });
    // A failed handshake is the client's affair, and its socket is closed already.
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    this.tlsServer = server;
    return await this.open(server, host, port);
  }

  /** The certificate of connections from now on. */
  useTls(spec: TlsSpec): void {
    if (!this.tlsServer) return;
    this.clients = spec.clients;
    this.tlsServer.setSecureContext(secureContextOptions(spec));
    askForCertificates(this.tlsServer, spec.clients);
  }

  /** Accepts nothing more. Resolves once every connection is closed. */
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

  /** Closes our side, and reads off what the client sent: else it would see a reset instead of an end. */
  private turnAway(socket: Socket): void {
    this.options.refused?.(socket);
    socket.on('error', () => socket.destroy());
    if (this.turnedAway >= turnedAwayMax) {
      socket.destroy();
      return;
    }
    this.turnedAway++;
    socket.once('close', () => this.turnedAway--);
    socket.setTimeout(turnAwayMs, () => socket.destroy());
    socket.resume();
    socket.end();
  }

  private async open(server: Server, host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    // A server that cannot accept (no descriptors left) tries again with the next connection.
    server.on('error', () => {});
    this.servers.add(server);
    const address = server.address();
    return typeof address === 'object' && address ? address.port : port;
  }
}

const socketOptions = { noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveDelayMs } as const;
