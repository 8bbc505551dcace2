// The ports between nodes. Until clusters of several nodes come they say what listens here, and nothing else.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { secureContextOptions, type TlsSpec } from '#ports/tls.ts';

export interface DistPortsOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  tlsPort: number;
  /** One line for whoever connects. */
  greeting: string;
}

const connectionsMax = 64;
const idleMs = 10_000;

export class DistPorts {
  readonly #options: DistPortsOptions;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  #secure: TlsServer | null = null;

  constructor(options: DistPortsOptions) {
    this.#options = options;
  }

  /** Answers the port that listens. */
  startPlain(): Promise<number> {
    return this.#listen(
      createServer((socket) => this.#greet(socket)),
      this.#options.port,
    );
  }

  /** Once there is a certificate. */
  startTls(tls: TlsSpec): Promise<number> {
    this.#secure = createTlsServer(secureContextOptions(tls), (socket) => this.#greet(socket));
    this.#secure.on('tlsClientError', () => {}); // whoever spoke no TLS has been told by the handshake
    return this.#listen(this.#secure, this.#options.tlsPort);
  }

  replaceTls(tls: TlsSpec): void {
    this.#secure?.setSecureContext(secureContextOptions(tls));
  }

  async stop(): Promise<void> {
    const closed = this.#servers.map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    );
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  #greet(socket: Socket): void {
    socket.on('error', () => {}); // whoever looked has gone
    socket.end(this.#options.greeting);
  }

  #listen(server: Server, port: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    server.maxConnections = connectionsMax;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.setTimeout(idleMs, () => socket.destroy());
      socket.on('error', () => {}); // reset while we said hello
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.once('error', reject);
    server.listen({ host: this.#options.host, port }, () => {
      this.#servers.push(server);
      resolve((server.address() as AddressInfo).port);
    });
    return promise;
  }
}
