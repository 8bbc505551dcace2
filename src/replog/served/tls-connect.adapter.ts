// Connects to the founder: both sides show a certificate of the cluster's authority.
import { connect } from 'node:tls';
import type { Channel } from './channel.ts';
import { TlsChannel } from './tls-channel.adapter.ts';

interface FounderAddress {
  readonly host: string;
  readonly port: number;
  /** The name in its certificate. */
  readonly servername: string;
}

interface OwnCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const connectMs = 3_000;

export function connectToFounder(address: FounderAddress, certificate: OwnCertificate): Promise<Channel> {
  const { promise, resolve, reject } = Promise.withResolvers<Channel>();
  const socket = connect({ ...address, ...certificate, minVersion: 'TLSv1.3', rejectUnauthorized: true });
  const fail = (error: Error): void => {
    socket.destroy();
    reject(error);
  };
  socket.setTimeout(connectMs, () => fail(new Error('no answer in time')));
  socket.once('error', fail);
  socket.once('secureConnect', () => {
    socket.setTimeout(0);
    resolve(new TlsChannel(socket));
  });
  return promise;
}
