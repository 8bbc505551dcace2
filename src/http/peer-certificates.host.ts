// Client certificates of connections, verified once per connection, against the authorities trusted at its handshake.
import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { askForCertificates, type ShownCertificate, shownCertificate } from '#ports/client-certificate.ts';
import type { TlsSpec } from '#ports/tls.ts';

const certificates = new WeakMap<Socket, ShownCertificate>();

/** Null for a connection without a client certificate. */
export const certificateOf = (socket: Socket): ShownCertificate | null => certificates.get(socket) ?? null;

export class PeerCertificates {
  private tls: TlsSpec;

  constructor(server: Server, tls: TlsSpec) {
    this.tls = tls;
    askForCertificates(server, tls.clients);
    // Before any request of the connection: this listener is registered ahead of the one that serves requests.
    server.prependListener('secureConnection', (socket) => this.check(socket));
  }

  follow(server: Server, tls: TlsSpec): void {
    this.tls = tls;
    askForCertificates(server, tls.clients);
  }

  private check(socket: TLSSocket): void {
    const found = shownCertificate(socket, this.tls.clients);
    if (found === 'refused') socket.destroy();
    else if (found) certificates.set(socket, found);
  }
}
