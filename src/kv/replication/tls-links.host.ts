// Connections between the data services of a cluster: both sides show a certificate of the cluster's authority, which names their node.
import type { Socket } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { nodeDataProtocol, nodeIdIn } from '#base/node-uri.ts';
import { readEncryptedInto } from '#ports/encrypted-reads.ts';
import {
  markAuthenticated,
  type UnauthenticatedSockets,
  unauthenticatedNodes,
} from '#ports/unauthenticated-sockets.ts';
import type { PeerTls } from '../admin.ts';
import type { Link, LinkAddress, LinkHandler, LinkHost } from './link.ts';

const connectTimeoutMs = 3_000;
export interface LinkLimits {
  /** Connections of nodes, including those whose certificate is not checked yet. */
  connections: number;
  /** Connections whose certificate is not checked yet: fewer, so that clients that are no nodes cannot use up all connections. */
  unauthenticated: number;
}

const defaultLimits: LinkLimits = { connections: 2_048, unauthenticated: 256 };
/** A TLS record has at most this many bytes, and each read returns one record. */
const readBytes = 16 * 1024;

export class TlsLinks implements LinkHost<PeerTls> {
  accepted: (link: Link) => void = (link) => link.close('this node has no cluster');
  acceptedClient: (socket: TLSSocket, node: string) => void = (socket) => socket.destroy();
  private server: Server | null = null;
  private tls: PeerTls | null = null;
  private readonly sockets = new Set<TLSSocket>();
  private readonly limits: LinkLimits;
  private readonly unauthenticated: UnauthenticatedSockets;
  /** The buffer into which all links are read; null until the first link. */
  private shared: Buffer | null = null;

  constructor(limits = defaultLimits) {
    this.limits = limits;
    this.unauthenticated = unauthenticatedNodes(limits.unauthenticated);
  }

  async listen(host: string, port: number): Promise<number> {
    const server = createServer(
      {
        requestCert: true,
        rejectUnauthorized: true,
        minVersion: 'TLSv1.3',
        handshakeTimeout: connectTimeoutMs,
        ALPNProtocols: [nodeDataProtocol],
        noDelay: true,
      },
      (socket) => this.acceptSocket(socket),
    );
    server.maxConnections = this.limits.connections;
    server.on('connection', (socket: Socket) => this.unauthenticated.enterHandshake(socket));
    server.on('tlsClientError', (_, socket) => socket.destroy());
    this.server = server;
    if (this.tls !== null) server.setSecureContext(contextOf(this.tls));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  useTls(tls: PeerTls): void {
    const { certificate, key, authority } = this.tls ?? {};
    if (tls.certificate === certificate && tls.key === key && tls.authority === authority) return;
    this.tls = tls;
    this.server?.setSecureContext(contextOf(tls));
  }

  connect({ host, node, port }: LinkAddress): Promise<Link> {
    const { tls } = this;
    if (tls === null) return Promise.reject(new Error('this node has no certificate yet'));
    const { promise, reject, resolve } = Promise.withResolvers<Link>();
    const socket = connect({
      host,
      port,
      ...contextOf(tls),
      minVersion: 'TLSv1.3',
      rejectUnauthorized: true,
      // Nodes are known by their ids; their addresses may change.
      checkServerIdentity: (_, { subjectaltname }) =>
        nodeIdIn(subjectaltname) === node
          ? undefined
          : new Error(`the certificate does not name node ${node}`),
    });
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(connectTimeoutMs, () => fail(new Error('no answer in time')));
    socket.once('error', fail);
    socket.once('secureConnect', () => {
      socket.setTimeout(0);
      resolve(this.linkOf(socket, node));
    });
    return promise;
  }

  async close(): Promise<void> {
    const { server } = this;
    this.server = null;
    const closed = new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private acceptSocket(socket: TLSSocket): void {
    this.unauthenticated.handshakeEnded(socket);
    const node = nodeIdIn(socket.getPeerX509Certificate()?.subjectAltName);
    if (node !== null) markAuthenticated(socket);
    if (node === null) socket.destroy();
    else if (socket.alpnProtocol === nodeDataProtocol) this.acceptClient(socket, node);
    else this.accepted(this.linkOf(socket, node));
  }

  private acceptClient(socket: TLSSocket, node: string): void {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    this.acceptedClient(socket, node);
  }

  private linkOf(socket: TLSSocket, node: string): Link {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    this.shared ??= Buffer.allocUnsafeSlow(readBytes);
    return new TlsLink(socket, node, this.shared);
  }
}

class TlsLink implements Link {
  readonly node: string;
  private readonly socket: TLSSocket;
  private readonly shared: Buffer;
  private reason = 'the connection was closed';

  constructor(socket: TLSSocket, node: string, shared: Buffer) {
    this.socket = socket;
    this.shared = shared;
    this.node = node;
    socket.setNoDelay(true);
    socket.on('error', (error) => {
      this.reason = error.message;
    });
  }

  get unsentBytes(): number {
    return this.socket.writableLength;
  }

  send(bytes: Uint8Array, sent: () => void): void {
    if (!this.socket.destroyed) this.socket.write(bytes, sent);
  }

  receive(handler: LinkHandler): void {
    const { socket } = this;
    if (socket.destroyed) {
      // Without a listener for `close`, which may have been emitted already or may follow: `closed` is called once.
      handler.closed(this.reason);
      return;
    }
    socket.once('close', () => handler.closed(this.reason));
    if (!readEncryptedInto(socket, this.shared, (bytes, length) => this.pass(handler, bytes, length)))
      socket.on('data', (bytes: Buffer) => handler.data(bytes));
  }

  close(reason: string): void {
    this.reason = reason;
    this.socket.destroy();
  }

  private pass(handler: LinkHandler, bytes: Buffer, length: number): boolean {
    handler.data(bytes.subarray(0, length));
    return true;
  }
}

const contextOf = ({ authority, certificate, key }: PeerTls) => ({ ca: authority, cert: certificate, key });
