// Listens on the ports between nodes. A node of the cluster requests the internal server name over TLS and presents its certificate;
// its connection goes to the service given to `serveNodes`. Every other client only gets a line that names this server.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import {
  createSecureContext,
  createServer as createTlsServer,
  type SecureContext,
  type TLSSocket,
  type Server as TlsServer,
} from 'node:tls';
import { nodeServerName } from '#base/node-uri.ts';
import type { ClientGate } from '#ports/client-gate.ts';
import { endWithin } from '#ports/end-of-socket.ts';
import { secureContextOptions, type TlsSpec } from '#ports/tls.ts';
import { markAuthenticated, unauthenticatedNodes } from '#ports/unauthenticated-sockets.ts';
import {
  type NodeCredentials,
  type NodeProtocol,
  nodeProtocols,
  peerOf,
} from '#replog/served/node-connect.adapter.ts';

export interface DistPortsOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  tlsPort: number;
  /** The line sent to each client. */
  greeting: string;
  /** Absent: every address may connect. */
  gate?: ClientGate;
}

/** Serves connections of nodes that hold a certificate of the cluster's authority. */
export type ServeNode = (socket: TLSSocket, nodeId: string, protocol: NodeProtocol) => void;

const connectionsMax = 256;
/** The limit of connections to the TLS port without a certificate of a node: below `connectionsMax`, so that other clients cannot keep nodes out. */
const unauthenticatedMax = 128;
const idleTimeoutMs = 10_000;

export class DistPorts {
  readonly #options: DistPortsOptions;
  readonly #sockets = new Set<Socket>();
  readonly #unauthenticated = unauthenticatedNodes(unauthenticatedMax);
  readonly #plain: Server;
  #secure: TlsServer | null = null;
  #nodeService: { context: SecureContext; serve: ServeNode } | null = null;
  /** The port of each server, so that a closed one is opened on the same port again. */
  readonly #ports = new Map<Server, number>();

  constructor(options: DistPortsOptions) {
    this.#options = options;
    this.#plain = this.#withLimits(createServer((socket) => this.#greet(socket)));
  }

  /** Resolves with the actual port. */
  startPlain(): Promise<number> {
    return this.#listen(this.#plain, this.#options.port);
  }

  /** Starts the TLS port, when there is a certificate; resolves with the actual port. */
  startTls(tls: TlsSpec): Promise<number> {
    const options = {
      ...secureContextOptions(tls),
      requestCert: true,
      rejectUnauthorized: false,
      ALPNProtocols: Object.values(nodeProtocols),
      SNICallback: (name: string, done: (error: Error | null, context?: SecureContext) => void) =>
        done(null, name === nodeServerName ? this.#nodeService?.context : undefined),
    };
    const secure = createTlsServer(options, (socket) => this.#serve(socket));
    secure.on('tlsClientError', () => {}); // a client without TLS gets the error from the handshake
    this.#secure = this.#withLimits(secure);
    secure.on('connection', (socket: Socket) => {
      if (!socket.destroyed) this.#unauthenticated.enterHandshake(socket);
    });
    return this.#listen(this.#secure, this.#options.tlsPort);
  }

  /** From now on serves the nodes of a cluster, as the node with these credentials. */
  serveNodes({ ca, cert, key }: NodeCredentials, serve: ServeNode): void {
    this.#nodeService = { context: createSecureContext({ ca, cert, key, minVersion: 'TLSv1.3' }), serve };
  }

  replaceTls(tls: TlsSpec): void {
    this.#secure?.setSecureContext(secureContextOptions(tls));
  }

  /** Opens and closes the ports that have been started. */
  async follow(wanted: { plain: boolean; tls: boolean }): Promise<void> {
    await this.#open(this.#plain, wanted.plain);
    if (this.#secure) await this.#open(this.#secure, wanted.tls);
  }

  async stop(): Promise<void> {
    const open = [...this.#ports.keys()].filter((server) => server.listening);
    const closed = open.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  async #open(server: Server, wanted: boolean): Promise<void> {
    const port = this.#ports.get(server);
    if (port === undefined || wanted === server.listening) return;
    if (wanted) await this.#listen(server, port);
    else server.close();
  }

  #serve(socket: TLSSocket): void {
    this.#unauthenticated.handshakeEnded(socket);
    const { servername, alpnProtocol } = socket as { servername?: string | false } & TLSSocket;
    if (servername !== nodeServerName || this.#nodeService === null) {
      this.#greet(socket);
      return;
    }
    const peer = peerOf(socket);
    socket.on('error', () => {}); // the other node has disconnected
    socket.setTimeout(0);
    if (peer === null || !alpnProtocol) {
      socket.destroy();
      return;
    }
    markAuthenticated(socket);
    this.#nodeService.serve(socket, peer, alpnProtocol as NodeProtocol);
  }

  #greet(socket: Socket): void {
    if (this.#options.gate?.admits(socket.remoteAddress) === false) return; // the gate closes it
    socket.on('error', () => {}); // the client has disconnected
    endWithin(socket, this.#options.greeting, idleTimeoutMs);
  }

  #withLimits<S extends Server>(server: S): S {
    server.maxConnections = connectionsMax;
    server.on('connection', (socket: Socket) => {
      if (this.#options.gate?.pass(socket) === false) return;
      this.#sockets.add(socket);
      socket.setTimeout(idleTimeoutMs, () => socket.destroy());
      socket.on('error', () => {}); // the client reset the connection
      socket.on('close', () => this.#sockets.delete(socket));
    });
    return server;
  }

  #listen(server: Server, port: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    server.once('error', reject);
    server.listen({ host: this.#options.host, port }, () => {
      server.removeListener('error', reject);
      const opened = (server.address() as AddressInfo).port;
      this.#ports.set(server, opened);
      resolve(opened);
    });
    return promise;
  }
}
