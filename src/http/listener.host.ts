// Sockets of the REST server: plain and TLS listeners over one request handler, with limits on headers and time.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { assert } from '#base/assert.ts';
import type { ClientGate } from '#ports/client-gate.ts';
import type { Clock } from '#ports/clock.ts';
import { endWithin } from '#ports/end-of-socket.ts';
import { handleShares } from '#ports/handles.ts';
import { http, https } from '#ports/node-http.ts';
import { secureContextOptions, type TlsSpec } from '#ports/tls.ts';
import { handshakeMs, UnauthenticatedSockets } from '#ports/unauthenticated-sockets.ts';
import { PeerCertificates } from './peer-certificates.host.ts';
import { SilentSockets } from './silent-sockets.host.ts';

const limits = {
  headerBytes: 64 << 10,
  headerCount: 1000,
  requestTimeoutMs: 300_000,
  /** Connections of clients that have not logged in, for each address. */
  unauthenticatedPerSource: 512,
  /** Idle time before the operating system probes the connection (TCP keepalive). */
  keepAliveDelayMs: 30_000,
};

const restTimeouts = { headersMs: 30_000, idleMs: 300_000, checkMs: 30_000, lingerMs: 5_000 };

export interface ListenOptions {
  host: string;
  port: number;
  tls?: TlsSpec;
  /** Absent: every address may connect. */
  gate?: ClientGate;
  /** Absent: the limits of all REST ports. */
  unauthenticated?: UnauthenticatedSockets;
  /** Absent: those of all REST ports. */
  timeouts?: Timeouts;
}

interface Timeouts {
  /** The limit from the first byte of a request to the end of its headers. */
  readonly headersMs: number;
  /** How long a connection stays open without a request. */
  readonly idleMs: number;
  /** The interval of the checks of `headersMs`. */
  readonly checkMs: number;
  /** How long an answer may take after the client has half-closed the connection, and how long the connection of a refused request stays open. */
  readonly lingerMs: number;
}

export interface Listener {
  /** The actual port. */
  readonly port: number;
  /** Accepts no new connections; resolves when the last one is closed, at the latest after the deadline. */
  close(clock: Clock, deadlineMs: number): Promise<void>;
  /** TLS listeners only: new connections get this certificate, open ones keep theirs. */
  replaceTls(tls: TlsSpec): void;
  /**
   * Plain listeners only: accepts new connections on these hosts only. Open connections get their answers; those with further
   * requests are closed at the deadline.
   */
  moveTo(hosts: readonly string[], clock: Clock, deadlineMs: number): Promise<void>;
}

export async function openListener(handler: RequestListener, options: ListenOptions): Promise<Listener> {
  const first = makeServer(handler, options);
  const { server } = first;
  const certificates = options.tls && new PeerCertificates(server as TlsServer, options.tls);
  await listen(server, options);
  const open = new Set([first]);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async close(clock, deadlineMs) {
      await Promise.all([...open].map((openServer) => close(openServer, clock, deadlineMs)));
    },
    replaceTls(tls) {
      assert('setSecureContext' in server, 'only a TLS listener has a certificate');
      server.setSecureContext(secureContextOptions(tls));
      certificates?.follow(server, tls);
    },
    async moveTo(hosts, clock, deadlineMs) {
      for (const openServer of open) void close(openServer, clock, deadlineMs);
      open.clear();
      for (const host of hosts) {
        const next = makeServer(handler, options);
        await listen(next.server, { host, port });
        open.add(next);
      }
    },
  };
}

/** How often a closing server looks for connections that have become idle. */
const closeIdleEveryMs = 10;

interface OpenServer {
  readonly server: Server | TlsServer;
  readonly silent: SilentSockets;
}

function makeServer(
  handler: RequestListener,
  { tls, gate, unauthenticated = restUnauthenticated, timeouts = restTimeouts }: ListenOptions,
): OpenServer {
  const options = serverOptions(timeouts);
  const serve: RequestListener = (request, response) =>
    isCoded(request) ? refuseCoded(response) : handler(request, response);
  const server = tls ? tlsServer(serve, tls, options) : http.createServer(options, serve);
  const silent = new SilentSockets(server, tls ? 'secureConnection' : 'connection', timeouts.idleMs);
  server.maxConnections = connectionsMax;
  const enter = tls
    ? guardHandshakes(server as TlsServer, unauthenticated)
    : (socket: Socket) => unauthenticated.enter(socket);
  server.maxHeadersCount = limits.headerCount;
  server.on('clientError', (error, socket: Socket) => answerMalformed(error, socket, timeouts.lingerMs));
  server.on('connection', (socket: Socket) => {
    if (gate !== undefined && !gate.pass(socket)) return;
    if (!enter(socket)) return;
    socket.once('end', () => limitHalfClosed(socket, timeouts.lingerMs));
    if (!tls) silent.hold(socket);
  });
  if (tls) server.on('secureConnection', (socket: Socket) => silent.hold(socket));
  return { server, silent };
}

/** Returns the function that admits an accepted socket. */
function guardHandshakes(
  server: TlsServer,
  unauthenticated: UnauthenticatedSockets,
): (socket: Socket) => boolean {
  server.prependListener('secureConnection', (socket) => unauthenticated.handshakeEnded(socket));
  return (socket) => unauthenticated.enterHandshake(socket);
}

const connectionsMax = handleShares().rest;
/** Limit of unauthenticated clients on all REST ports: half of the connections stay free for others, administrators among them. */
const restUnauthenticated = new UnauthenticatedSockets(() => ({
  total: Math.floor(connectionsMax / 2),
  perSource: Math.min(limits.unauthenticatedPerSource, Math.floor(connectionsMax / 4)),
}));

const serverOptions = ({ headersMs, idleMs, checkMs }: Timeouts) => ({
  maxHeaderSize: limits.headerBytes,
  headersTimeout: headersMs,
  requestTimeout: limits.requestTimeoutMs,
  connectionsCheckingInterval: checkMs,
  keepAliveTimeout: idleMs,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: limits.keepAliveDelayMs,
});

const tlsServer = (handler: RequestListener, tls: TlsSpec, options: object): TlsServer =>
  https.createServer({ ...options, handshakeTimeout: handshakeMs, ...secureContextOptions(tls) }, handler);

function listen(server: Server | TlsServer, options: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

function close({ server, silent }: OpenServer, clock: Clock, deadlineMs: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = clock.after(deadlineMs, () => server.closeAllConnections());
    // Otherwise connections that are busy now would stay open until their idle timeout.
    const closeIdle = (): void => {
      server.closeIdleConnections();
      next = clock.after(closeIdleEveryMs, closeIdle);
    };
    let next = clock.after(closeIdleEveryMs, closeIdle);
    server.close(() => {
      deadline.cancel();
      next.cancel();
      resolve();
    });
    server.closeIdleConnections();
    silent.close();
  });
}

/** Limits a half-closed connection: its client may read nothing more and would keep the request running. */
function limitHalfClosed(socket: Socket, lingerMs: number): void {
  socket.setTimeout(lingerMs, () => socket.destroy());
}

/** Whether the body has a coding beside the chunks, which Node removes: gzip, for example. */
function isCoded({ headers }: IncomingMessage): boolean {
  const codings = headers['transfer-encoding'];
  return codings !== undefined && codings.trim().toLowerCase() !== 'chunked';
}

function refuseCoded(response: ServerResponse): void {
  const text = 'Transfer-Encoding: only chunked is supported.';
  const length = Buffer.byteLength(text);
  const type = 'text/plain';
  response.writeHead(501, { Server: 'Divan', 'Content-Type': type, 'Content-Length': length });
  response.end(text);
}

/** Requests that cannot be parsed, or whose headers take too long, never reach the pipeline. */
function answerMalformed(error: Error & { code?: string }, socket: Socket, lingerMs: number): void {
  if (!socket.writable || socket.bytesWritten > 0) return void socket.destroy();
  const head = `HTTP/1.1 ${malformedStatus(error.code)}\r\nServer: Divan\r\nConnection: close`;
  // The rest of a request that was too slow could still come, and would be served.
  if (error.code === requestTimeoutCode) socket.once('finish', () => socket.destroy());
  endWithin(socket, `${head}\r\nContent-Length: 0\r\n\r\n`, lingerMs);
}

const requestTimeoutCode = 'ERR_HTTP_REQUEST_TIMEOUT';

function malformedStatus(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return '431 Request Header Fields Too Large';
  return code === requestTimeoutCode ? '408 Request Timeout' : '400 Bad Request';
}
